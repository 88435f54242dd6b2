"""Profiles of users and items: histories, rows and counters, written in one commit per batch."""
