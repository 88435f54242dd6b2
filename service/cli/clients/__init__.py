"""Verbs that ask a running service over HTTP, as any client could."""
