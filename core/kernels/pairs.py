"""Transposes the rows of users into the rows of items."""

import numpy as np

from core.kernels.jit import kernel
from core.types import F32, I32, I64


@kernel
def transpose(
    ptr: I64, item_ix: I32, weight: F32, target: F32, next_at: I64, user_ix: I32, w: F32, t: F32
) -> None:
    """Write each pair into the row of its item; users rise within a row.

    Equation   row of y := the users x with y in row x, with w_xy and r+_xy
    Symbols    ptr (users + 1,), item_ix (pairs,): the rows of users · next_at (items,): start of
               each item's row, overwritten · weight w, target r+ (pairs,) or (0,) for none · out
               user_ix (pairs,), w and t like weight and target
    Cost       O(pairs); allocates nothing
    Reference  tests/core/reference_batch.py::transpose
    """
    for x in range(ptr.size - 1):
        for k in range(ptr[x], ptr[x + 1]):
            y = item_ix[k]
            at = next_at[y]
            next_at[y] = at + 1
            user_ix[at] = np.int32(x)
            if weight.size > 0:
                w[at] = weight[k]
            if target.size > 0:
                t[at] = target[k]
