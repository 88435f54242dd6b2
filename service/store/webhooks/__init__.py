"""Webhooks, what waits to be sent to them, and how far what happens was looked at."""
