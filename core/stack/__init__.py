"""Learning to rank by several rankers at once; start at ``logit.py``."""
