"""The whole loop on a file, in the order of time; start at ``loop.py``."""
