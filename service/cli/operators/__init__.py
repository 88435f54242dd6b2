"""Verbs that open the store itself, whether the service runs or not."""
