"""Trained models and the weights of their mixture."""
