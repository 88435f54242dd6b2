"""Metrics of ordinal scores and levels."""

import numpy as np

from core.errors import DataError
from core.types import F64, I64


def mean_auc(scores: F64, level: I64) -> float:
    """Return the AUC averaged over the splits of the levels; splits with an empty side are skipped.

    Equation   1/(k-1) sum_j P(f(x) > f(x') | y > j >= y'), ties count half

    >>> mean_auc(np.array([0.0, 1.0, 2.0]), np.array([1, 2, 3]))
    1.0
    """
    ranks = _ranks(scores)
    found = []
    for j in range(int(level.min()), int(level.max())):
        above = level > j
        n, m = int(above.sum()), int((~above).sum())
        found.append((ranks[above].sum() - n * (n + 1) / 2) / (n * m))
    if not found:
        raise DataError("all test rows have the same level: give rows of at least two levels")
    return float(np.mean(found))


def _ranks(scores: F64) -> F64:
    """Return the rank of each score, from 1; equal scores share their mean rank.

    Same as scipy.stats.rankdata, whose import takes half a second.

    >>> _ranks(np.array([3.0, 1.0, 3.0]))
    array([2.5, 1. , 2.5])
    """
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks: F64 = (np.cumsum(counts) - (counts - 1) / 2.0)[place]
    return ranks


def equal_levels(target: F64, levels: int) -> I64:
    """Return the level of each row, (n,) i64 in 1 .. k, from at most ``levels`` quantiles.

    Equal values share a level, so a target with few distinct values may have k < levels.

    >>> equal_levels(np.array([5.0, 1.0, 3.0, 9.0]), 2)
    array([2, 1, 1, 2])
    """
    edges = np.quantile(target, np.arange(1, levels) / levels)
    raw = np.searchsorted(edges, target, side="left")
    level: I64 = 1 + np.unique(raw, return_inverse=True)[1].astype(np.int64)
    if level.max() == 1:
        raise DataError("the target has only one level: choose a target that varies")
    return level
