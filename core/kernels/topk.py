"""The exact best items of all users, on all threads: every item is scored, exclusions included.

A higher score is better; among equal scores the lower item number is better. A NaN score never
enters a list. ``core.kernels.scan`` does the same for one user, serially.
"""

import numpy as np
from numba import prange

from core.kernels.jit import helper, parallel_kernel
from core.types import F32, I32, I64

BLOCK, TILE = 128, 2048
"""Users and items scored together; their scores stay in the cache while the best are selected."""
STRIP = 16
"""Number of scores compared with the worst kept one before any of them is looked at singly."""


@helper
def _sift(score: F32, item: I32, size: int) -> None:
    """Restore the heap after its root, the worst entry, was replaced."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        other = child + 1
        if other < size and (
            score[other] < score[child]
            or (score[other] == score[child] and item[other] > item[child])
        ):
            child = other
        if score[at] < score[child] or (score[at] == score[child] and item[at] > item[child]):
            return
        score[at], score[child] = score[child], score[at]
        item[at], item[child] = item[child], item[at]
        at = child


@helper
def _offer(scores: F32, first: int, excluded: I32, at: int, item: I32, score: F32) -> int:
    """Offer the items from ``first`` on to the heap; return the next index in ``excluded``."""
    n = scores.size
    whole = n - n % STRIP
    for start in range(0, n, STRIP):
        end = n
        better = 1
        if start < whole:
            end = start + STRIP
            better = 0
            worst = score[0]
            # A branch-free loop of known length is vectorised.
            for j in range(STRIP):
                better += scores[start + j] > worst
        if better > 0:
            for y in range(start, end):
                # Item numbers rise: a score equal to the worst kept one loses the tie.
                if scores[y] > score[0]:
                    while at < excluded.size and excluded[at] < first + y:
                        at += 1
                    if not (at < excluded.size and excluded[at] == first + y):
                        score[0] = scores[y]
                        item[0] = first + y
                        _sift(score, item, item.size)
    return at


@helper
def _order(item: I32, score: F32) -> None:
    """Turn the heap into a list, best first."""
    for size in range(item.size - 1, 0, -1):
        score[0], score[size] = score[size], score[0]
        item[0], item[size] = item[size], item[0]
        _sift(score, item, size)


@helper
def _rank_block(
    users: F32, item_factors: F32, ptr: I64, excluded: I32, item: I32, score: F32
) -> None:
    """Rank for a block of users, tile by tile of the items."""
    item[:] = -1
    score[:] = -np.inf
    at = ptr[:-1].copy()
    for tile in range(0, item_factors.shape[0], TILE):
        scores = np.dot(users, item_factors[tile : tile + TILE].T)
        for u in range(users.shape[0]):
            at[u] = _offer(scores[u], tile, excluded[: ptr[u + 1]], at[u], item[u], score[u])
    for u in range(users.shape[0]):
        _order(item[u], score[u])


@parallel_kernel
def top_k_all(
    users: F32, item_factors: F32, ptr: I64, excluded: I32, item: I32, score: F32
) -> None:
    """Write each user's best items, best first, into ``item`` and ``score``.

    Equation   argmax_k of q_y . p over all y not excluded, for each row p
    Symbols    users p (n, g) · item_factors q (items, g) C-order · excluded of user u:
               excluded[ptr[u]:ptr[u + 1]], rising · item, score (n, k), k at least 1; -1 and -inf
               where there are fewer items
    Cost       O(n (items g + items log k)); allocates 1 MB of scores in each thread
    Reference  tests/core/reference_batch.py::top_k_all
    """
    n = users.shape[0]
    for b in prange((n + BLOCK - 1) // BLOCK):
        first = b * BLOCK
        last = min(first + BLOCK, n)
        _rank_block(
            users[first:last],
            item_factors,
            ptr[first : last + 1],
            excluded,
            item[first:last],
            score[first:last],
        )
