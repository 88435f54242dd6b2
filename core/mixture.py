"""Combining the lists of several rankers into one; ``core.mixture_weights`` learns the weights."""

from collections.abc import Sequence

import numpy as np

from core.kernels import merge
from core.mixture_weights import DEPTH
from core.types import F32, I32, I64

SMOOTH = 20.0
"""Constant added to every rank: it makes agreement count more than a single first place."""

_NO_ITEMS: I32 = np.empty(0, np.int32)

List = tuple[I32, F32]
"""Item numbers, best first, and their scores."""


def combine(lists: Sequence[List], weights: Sequence[float]) -> List:
    """Return all items of the lists as one list, best first, with their scores; see ``mixed``.

    >>> a, b = np.array([3, 1], np.int32), np.array([1, 2], np.int32)
    >>> combine([(a, np.ones(2, np.float32)), (b, np.ones(2, np.float32))], [1.0, 1.0])[0]
    array([1, 3, 2], dtype=int32)
    """
    item, score, _ = mixed(lists, weights, sum(min(items.size, DEPTH) for items, _ in lists))
    return item, score


def mixed(lists: Sequence[List], weights: Sequence[float], n: int) -> tuple[I32, F32, I64]:
    """Return the best n items of the lists, their scores, and which list contributes most to each.

    Ties are broken by item number.

    Equation   score(y) = sum over the lists that hold y of w / (20 + rank of y), rank 1 .. 100
    """
    listed = np.concatenate([_NO_ITEMS, *[items for items, _ in lists]])
    length = np.array([items.size for items, _ in lists], np.int64)
    n = min(n, listed.size)
    out = np.empty(n, np.int32), np.empty(n, np.float32), np.empty(n, np.int64)
    size = merge.merge(listed, length, np.array(weights, np.float64), DEPTH, SMOOTH, *out)
    item, score, loudest = out
    return item[:size], score[:size], loudest[:size]
