"""Weights of unobserved pairs, regularisation by a row's number of pairs, and the units of both."""

import numpy as np

from core.interactions import Interactions
from core.types import F32, I64


def negative_weights(item_counts: I64, alpha0: float, rho: float) -> F32:
    """Return the weight a_y of an unobserved pair of each item; all weights sum to ``alpha0``.

    Equation   a_y = alpha0 (e^z_y - 1)^rho / sum of the same over all items    [fBGD, eq. 22]
    Symbols    z_y the item's share of the pairs

    >>> negative_weights(np.array([3, 1]), alpha0=8.0, rho=0.0)
    array([4., 4.], dtype=float32)
    """
    share = item_counts / max(int(item_counts.sum()), 1)
    raw = np.expm1(share) ** rho
    total = float(raw.sum())
    if total <= 0.0:
        return np.full(item_counts.size, alpha0 / max(item_counts.size, 1), np.float32)
    weights: F32 = (alpha0 * raw / total).astype(np.float32)
    return weights


def unobserved_unit(item_counts: I64, alpha0: float, rho: float) -> float:
    """Return the factor alpha0 / sum in the equation of ``negative_weights``."""
    share = item_counts / max(int(item_counts.sum()), 1)
    total = float((np.expm1(share) ** rho).sum())
    return alpha0 / total if total > 0.0 else 0.0


def scaled_reg(counts: I64, reg: float, nu: float, mean_count: float) -> F32:
    """Return the regularisation of each row: reg (count / mean count)^nu.

    A row without pairs counts as a row of one pair.

    >>> scaled_reg(np.array([1, 4]), 2.0, 0.5, mean_count=1.0)
    array([2., 4.], dtype=float32)
    """
    scaled: F32 = (reg * (np.maximum(counts, 1) / mean_count) ** nu).astype(np.float32)
    return scaled


def mean_count(counts: I64) -> float:
    """Return the mean number of pairs over the rows with pairs; 1 if all rows are empty."""
    used = counts[counts > 0]
    return float(used.mean()) if used.size else 1.0


def mean_weight(pairs: Interactions) -> float:
    """Return the mean weight of the positive pairs, or of all pairs if none is positive.

    It is the unit of ``alpha0`` and ``reg``: multiplying all weights and these two by the same
    factor leaves the problem as it is.
    """
    if pairs.weight is None or not len(pairs):
        return 1.0
    positive = None if pairs.target is None else pairs.target > 0
    some = positive is not None and bool(positive.any())
    return float((pairs.weight[positive] if some else pairs.weight).mean(dtype=np.float64))


def unit_reg(pairs: Interactions) -> float:
    """Return the unit of ``reg``: mean weight times the root of (pairs per user x pairs per item).

    A random matrix with these counts and this mean weight has singular values of about this size.
    """
    counts = mean_count(pairs.user_counts) * mean_count(pairs.item_counts)
    return mean_weight(pairs) * float(np.sqrt(counts))


def constant_loss(pairs: Interactions, negative: F32, below: float) -> float:
    """Return the constant term of the loss: its value if every score is 0."""
    factors = [v for v in (pairs.weight, pairs.target, pairs.target) if v is not None]
    # einsum sums through a small buffer instead of copying the pairs in double precision
    subscripts = ",".join("i" * len(factors)) + "->"
    observed = np.einsum(subscripts, *factors, dtype=np.float64) if factors else len(pairs)
    unobserved = pairs.n_users * float(negative.sum()) - float(negative @ pairs.item_counts)
    return float(observed) + below**2 * unobserved
