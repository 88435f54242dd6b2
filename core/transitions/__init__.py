"""Counted transitions: which items follow which, learned with every event and never trained."""
