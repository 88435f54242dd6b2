"""Ranking models, fitted to all histories at once.

Every unobserved pair counts in the loss: by default no negatives are sampled.
"""
