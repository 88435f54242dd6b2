"""The exact best items of one user, with exclusions and a mask: serial, without the GIL.

``core.kernels.topk`` does the same for all users, on all threads. A higher score is better; among
equal scores the lower item number is better. A NaN score never enters a list.
"""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import helper, kernel
from core.types import F32, I32, U64

TILE = 4096
"""Items scored together; their scores stay in the cache while the best are selected."""
STRIP = 16
"""Number of scores compared with the worst kept one before any of them is looked at singly."""

Mask = NDArray[np.bool_]


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
def _offer(
    scores: F32, first: int, excluded: I32, allowed: Mask, at: int, item: I32, score: F32
) -> int:
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
            for j in range(STRIP):  # counts without branches: vectorised
                better += scores[start + j] > worst
        if better > 0:
            for y in range(start, end):
                # Item numbers rise: a score equal to the worst kept one loses the tie.
                if scores[y] > score[0] and (allowed.size == 0 or allowed[first + y]):
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
def _bits(items: I32, end: int) -> U64:
    """Return bits, 64 in a word, of which those of the items are set."""
    bits = np.zeros((end + 63) >> 6, np.uint64)
    for y in items:
        bits[y >> 6] |= np.uint64(1) << np.uint64(y & 63)
    return bits


@helper
def _has(bits: U64, y: int) -> bool:
    return bool((bits[y >> 6] >> np.uint64(y & 63)) & np.uint64(1))


@kernel
def scan(user: F32, item_factors: F32, excluded: I32, allowed: Mask, item: I32, score: F32) -> None:
    """Write one user's best items, best first, into ``item`` and ``score``.

    Equation   argmax_k of q_y . p over all y that are allowed and not excluded
    Symbols    user p (g,) · item_factors q (n, g) C-order · excluded (e,) rising · allowed (n,), or
               (0,) if all are · item, score (k,), k >= 1; -1 and -inf where there are fewer items
    Cost       O(n g + n log k), bound by reading q once; allocates one tile of scores
    Reference  tests/core/reference_scan.py::scan
    """
    item[:] = -1
    score[:] = -np.inf
    n = item_factors.shape[0]
    scores = np.empty(min(n, TILE), np.float32)
    at = 0
    for first in range(0, n, TILE):
        tile = scores[: min(TILE, n - first)]
        np.dot(item_factors[first : first + TILE], user, tile)
        at = _offer(tile, first, excluded, allowed, at, item, score)
    _order(item, score)


@kernel
def first(order: I32, scores: F32, excluded: I32, allowed: Mask, item: I32, score: F32) -> int:
    """Write the first usable items of an order, and their scores; return how many there are.

    Equation   the first k of the order that are allowed and not excluded
    Symbols    order, scores (n,): distinct items and the score of each · excluded (e,) rising ·
               allowed (m,), items from m on are not allowed · item, score (k,); what lies behind
               the last usable item is not written
    Cost       O(e + items passed); allocates one bit for each item number up to the last excluded
    Reference  tests/core/reference_scan.py::first
    """
    end = excluded[-1] + 1 if excluded.size else 0
    bits = _bits(excluded, end)
    found = 0
    for at in range(order.size):
        if found == item.size:
            break
        y = order[at]
        if y < allowed.size and allowed[y] and (y >= end or not _has(bits, y)):
            item[found], score[found] = y, scores[at]
            found += 1
    return found


@kernel
def select(scores: F32, excluded: I32, allowed: Mask, item: I32, score: F32) -> None:
    """Write the best items, best first, given the score of each item.

    Equation   argmax_k of s_y over all y that are allowed and not excluded
    Symbols    scores s (n,) · the others as in ``scan``
    Cost       O(n log k); allocates nothing
    Reference  tests/core/reference_scan.py::select
    """
    item[:] = -1
    score[:] = -np.inf
    _offer(scores, 0, excluded, allowed, 0, item, score)
    _order(item, score)
