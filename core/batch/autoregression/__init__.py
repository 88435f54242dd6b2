"""Autoregression: predicts a user's next items from the order of the latest; start at model.py."""
