"""Data of other systems: each module reads one form, and the rows go to a running service."""
