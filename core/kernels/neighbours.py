"""Neighbours of items: keep the strongest of each item, and add those of a history up."""

import numpy as np
from numba import prange

from core.kernels.jit import helper, kernel, parallel_kernel
from core.types import F32, I32


@helper
def _sink(size: F32, item: I32, n: int) -> None:
    """Restore the heap after its root, the smallest strength, was replaced."""
    at = 0
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and size[child + 1] < size[child]:
            child += 1
        if size[at] <= size[child]:
            return
        size[at], size[child] = size[child], size[at]
        item[at], item[child] = item[child], item[at]
        at = child


@helper
def _keep(strengths: F32, neighbour: I32, strength: F32) -> None:
    """Keep the strongest of one row; its own storage is the heap."""
    k = neighbour.size
    strength[:] = -1.0
    neighbour[:] = -1
    for y in range(strengths.size):
        size = abs(strengths[y])
        if size > strength[0] and size > 0.0:
            strength[0] = size
            neighbour[0] = y
            _sink(strength, neighbour, k)
    neighbour.sort()
    empty = 0
    while empty < k and neighbour[empty] < 0:
        empty += 1
    for at in range(k):
        if at + empty < k:
            neighbour[at] = neighbour[at + empty]
            strength[at] = strengths[neighbour[at]]
        else:
            neighbour[at] = 0
            strength[at] = 0.0


@parallel_kernel
def strongest(strengths: F32, neighbour: I32, strength: F32) -> None:
    """Write the strongest neighbours of each row, in the order of their numbers.

    Equation   the k of largest |s_y| of each row, without zeros; of equal ones the lower numbers
    Symbols    strengths s (m, n) · neighbour y, strength s_y (m, k), rising; 0 and 0 at the end
               where there are fewer
    Cost       O(m n log k); allocates nothing
    Reference  tests/core/reference_neighbours.py::strongest
    """
    for at in prange(strengths.shape[0]):
        _keep(strengths[at], neighbour[at], strength[at])


@kernel
def add_rows(item_ix: I32, amount: F32, neighbour: I32, strength: F32, scores: F32) -> None:
    """Add the neighbours of a history to the scores of all items.

    Equation   scores_y += sum_i r_i s_iy
    Symbols    item_ix i, amount r (h,): the history · neighbour, strength s (n, k): strengths by
               item · scores (n,)
    Cost       O(likes k): an amount of 0 is passed over; allocates nothing
    Reference  tests/core/reference_neighbours.py::add_rows
    """
    for at in range(item_ix.size):
        times = amount[at]
        if times != 0.0:
            near, strong = neighbour[item_ix[at]], strength[item_ix[at]]
            for k in range(np.uint64(near.size)):
                # an unsigned index is not checked for counting from the end
                scores[np.uint64(near[k])] += times * strong[k]
