"""Merges the ranked lists of several rankers into one, for one user: serial, without the GIL.

A higher score is better; among equal scores the lower item number is better.
"""

import numpy as np

from core.kernels.jit import helper, kernel
from core.types import F32, F64, I32, I64

SPREAD = 2_654_435_761
"""Hash multiplier of item numbers, which spreads neighbouring numbers over the table."""


@helper
def _worse(score: F64, item: I32, a: int, b: int) -> bool:
    return bool(score[a] < score[b] or (score[a] == score[b] and item[a] > item[b]))


@helper
def _sift(score: F64, item: I32, heap: I64, at: int, size: int) -> None:
    """Restore the heap, whose root is the worst entry, below an index whose entry was replaced."""
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _worse(score, item, heap[child + 1], heap[child]):
            child += 1
        if not _worse(score, item, heap[child], heap[at]):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@helper
def _distinct(
    listed: I32,
    length: I64,
    weight: F64,
    depth: int,
    smooth: float,
    item: I32,
    score: F64,
    loudest: I64,
) -> int:
    """Write each item once, with its summed gains and the list of its largest gain.

    Returns the number of distinct items.
    """
    size = 16
    while size < 2 * listed.size:
        size *= 2
    slots = np.full(size, -1, np.int64)
    largest = np.empty(listed.size, np.float64)
    n = first = 0
    for one in range(weight.size):
        for at in range(first, first + min(length[one], depth)):
            gain = weight[one] / (smooth + (at - first + 1))
            slot = (listed[at] * SPREAD) & (size - 1)
            while slots[slot] >= 0 and item[slots[slot]] != listed[at]:
                slot = (slot + 1) & (size - 1)
            own = slots[slot]
            if own < 0:
                slots[slot] = n
                item[n], score[n], loudest[n], largest[n] = listed[at], gain, one, gain
                n += 1
            else:
                score[own] += gain
                if gain > largest[own]:
                    loudest[own], largest[own] = one, gain
        first += length[one]
    return n


@kernel
def merge(
    listed: I32,
    length: I64,
    weight: F64,
    depth: int,
    smooth: float,
    item: I32,
    score: F32,
    loudest: I64,
) -> int:
    """Write the best items of several lists, best first; return how many there are.

    Written are their scores and main lists, too: the list that gives an item its largest gain.

    Equation   score(y) = sum over the lists that contain y of w / (smooth + rank of y),
               rank 1 .. depth
    Symbols    listed: the lists one after the other, best first; list l has length[l] items and the
               weight w[l] · item, score, loudest (main list) (k,); what lies behind the last item
               is not written
    Cost       O(m + m log k) for m entries; allocates a table of them
    Reference  tests/core/reference_merge.py::merge
    """
    m = listed.size
    own_item, total = np.empty(m, np.int32), np.empty(m, np.float64)
    source = np.empty(m, np.int64)
    n = _distinct(listed, length, weight, depth, smooth, own_item, total, source)
    size = min(item.size, n)
    if size == 0:
        return 0
    heap = np.arange(size)
    for start in range(size // 2 - 1, -1, -1):
        _sift(total, own_item, heap, start, size)
    for y in range(size, n):
        if _worse(total, own_item, heap[0], y):
            heap[0] = y
            _sift(total, own_item, heap, 0, size)
    for last in range(size - 1, -1, -1):
        best = heap[0]
        item[last], score[last], loudest[last] = own_item[best], total[best], source[best]
        heap[0] = heap[last]
        _sift(total, own_item, heap, 0, last)
    return size
