"""Weighted sums of some rows of a matrix, dense or sparse."""

import numpy as np

from core.kernels.jit import kernel
from core.types import F32, I32, I64

TOGETHER = 4
"""Rows added in one pass over the sums, which then are read and written less often."""


@kernel
def add_rows(item_ix: I32, amount: F32, value: F32, scores: F32) -> None:
    """Add some rows of a matrix to the scores of all items.

    Equation   scores_y += sum_i r_i v_iy
    Symbols    item_ix i, amount r (h,) · value v (n, m) C-order · scores (m,)
    Cost       O(h m), bound by reading the rows once; allocates nothing
    Reference  tests/core/reference_rows.py::add_rows
    """
    h, m = item_ix.size, np.uint64(scores.size)
    whole = h - h % TOGETHER
    for at in range(0, whole, TOGETHER):
        a, b = value[item_ix[at]], value[item_ix[at + 1]]
        c, d = value[item_ix[at + 2]], value[item_ix[at + 3]]
        r, s, t, u = amount[at], amount[at + 1], amount[at + 2], amount[at + 3]
        for y in range(m):
            scores[y] += r * a[y] + s * b[y] + t * c[y] + u * d[y]
    for at in range(whole, h):
        row, times = value[item_ix[at]], amount[at]
        for y in range(m):
            scores[y] += times * row[y]


@kernel
def add_sparse_rows(
    item_ix: I32, amount: F32, ptr: I64, target: I32, value: F32, scores: F32
) -> None:
    """Add some rows of a sparse matrix to the scores of all items.

    Equation   scores_y += sum_i r_i v_iy
    Symbols    item_ix i, amount r (h,) · ptr (n + 1,), target y, value v: rows in CSR ·
               scores (m,)
    Cost       O(entries of the rows); allocates nothing
    Reference  tests/core/reference_rows.py::add_sparse_rows
    """
    for at in range(item_ix.size):
        times = amount[at]
        for e in range(ptr[item_ix[at]], ptr[item_ix[at] + 1]):
            # an unsigned index is not checked for counting from the end
            scores[np.uint64(target[e])] += times * value[e]
