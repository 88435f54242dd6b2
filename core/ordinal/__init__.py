"""Ordinal scores from features and few labels: one score, level thresholds, P(level).

Start at ``qs3orao.py``; ``stars.py`` applies the model to user-item pairs.
"""
