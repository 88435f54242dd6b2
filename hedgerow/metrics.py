"""Metrics of ranked lists for each user: recall, precision, ndcg and reciprocal rank.

>>> import numpy as np
>>> from hedgerow import from_pairs
>>> held_out = from_pairs(np.array([0, 1, 1]), np.array([2, 0, 1]))  # the items of two users
>>> lists = np.array([[2, 0], [2, 1]], np.int32)
>>> recall(hits(lists, held_out), 2)
array([1. , 0.5])
"""

from core.ranking_metrics import (
    Hits,
    hits,
    means,
    ndcg,
    precision,
    recall,
    reciprocal_rank,
    reciprocal_ranks,
)
from hedgerow._evaluation import evaluate

__all__ = [
    "Hits",
    "evaluate",
    "hits",
    "means",
    "ndcg",
    "precision",
    "recall",
    "reciprocal_rank",
    "reciprocal_ranks",
]
