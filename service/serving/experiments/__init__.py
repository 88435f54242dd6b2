"""Experiments: which parameters a user's lists are made with, and how the arms compare."""
