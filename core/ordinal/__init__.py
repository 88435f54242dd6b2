"""Ordinal scores of described things from few labels: one score, thresholds between the levels, P(level)."""
