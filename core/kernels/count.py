"""Weights of events counted by item: in total, and decayed by the age of the events."""

import numpy as np

from core.kernels.jit import kernel
from core.types import F64, I64

# same as core.popularity; kernels import nothing of ours that may change under the cache
TOTAL, RECENT, TIME = range(3)
"""Columns of a row: total weight, decayed weight as of TIME, time of the newest event in ms."""
NOTHING = 1e-9
"""Bound below which a count is a rounding error left by a removal."""


@kernel
def count(item: I64, weight: F64, time_ms: I64, rate: float, rows: F64) -> None:
    """Add the weights of n events to the rows of their items; a negative weight removes an event.

    Equation   total += w; recent(T) += w 2^-(rate (T - t)), T = max(T, t), after decay of recent
    Symbols    item, time_ms (n,) i64: t · weight w (n,) · rate 1 / half life · rows (items, 3) f64:
               TOTAL, RECENT, TIME, updated in place
    Cost       O(n); allocates nothing
    Differs    takes a rate instead of a half life: the compiler hoists the division out of a loop,
               but a call with a single event would still pay for it
    Reference  tests/core/reference_count.py::count
    """
    for i in range(item.size):
        row, t, w = np.uint64(item[i]), float(time_ms[i]), weight[i]
        newest = rows[row, TIME]
        if rows[row, RECENT] <= 0.0:
            newest = t
        if t > newest:
            rows[row, RECENT] *= 2.0 ** (rate * (newest - t))
            newest = t
        rows[row, TIME] = newest
        rows[row, RECENT] += w * 2.0 ** (rate * (t - newest))
        rows[row, TOTAL] += w
        if w < 0.0:
            if rows[row, TOTAL] < NOTHING:
                rows[row, TOTAL] = 0.0
            if rows[row, RECENT] < NOTHING:
                rows[row, RECENT] = 0.0
