"""Naive twin of the affinity by what is said of items, written from the formulas."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Shares = NDArray[np.floating]
"""(items, columns): the columns of each feature of an item add up to 1, or are all 0."""


def affinity(
    usual: Sequence[float],
    doubt: Sequence[float],
    feature: Sequence[int],
    shares: Shares,
    liked: Sequence[int],
    item: int,
) -> float:
    """Return the logarithm of how much likelier somebody with these likes takes the item."""
    total = 0.0
    for f, k in enumerate(doubt):
        columns = [c for c, own in enumerate(feature) if own == f]
        if not any(shares[item, c] for c in columns) or math.isinf(k):
            continue
        n = sum(float(shares[j, c]) for j in liked for c in columns)
        mean = 0.0
        for c in columns:
            theta = (sum(float(shares[j, c]) for j in liked) + k * usual[c]) / (n + k)
            mean += float(shares[item, c]) * theta / usual[c]
        total += math.log(mean)
    return total


def gain(
    likes: Mapping[int, Sequence[int]], shares: Shares, added: Sequence[float], doubt: float
) -> float:
    """Return by how much likelier the likes are than without tastes, each foreseen by the others.

    There is one feature, and each column has so many likes beside those of the users.
    """
    every = [item for items in likes.values() for item in items]
    total = 0.0
    for items in likes.values():
        for at, item in enumerate(items):
            if not shares[item].any():
                continue
            known = list(every)
            known.remove(item)
            usual = sum(shares[one] for one in known) + np.array(added)
            usual = usual / usual.sum()
            others = [one for n, one in enumerate(items) if n != at]
            total += affinity(usual, [doubt], [0] * len(usual), shares, others, item)
    return total
