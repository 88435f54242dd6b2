"""How good ranked lists are: recall, precision, ndcg and reciprocal rank, user by user."""

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

__all__ = [
    "Hits",
    "hits",
    "means",
    "ndcg",
    "precision",
    "recall",
    "reciprocal_rank",
    "reciprocal_ranks",
]
