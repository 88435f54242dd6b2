"""Families whose models are trained: a ranker for each, and items that a model has not learned."""
