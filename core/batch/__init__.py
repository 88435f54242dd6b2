"""Ranking models, fitted to all histories at once.

Every unlabelled pair counts in the loss: by default no negatives are sampled.
"""
