"""Verbs that run the service: whole, one role of it, for show, or to measure it."""
