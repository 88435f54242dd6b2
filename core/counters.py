"""Counting the evidence for items, in total and decayed; ``core.popularity`` reads the rows.

Take back only what was counted before.
"""

import numpy as np

from core.kernels import count as kernels
from core.popularity import WIDTH
from core.types import F64, I64


class Counters:
    """Counts of evidence by item; ``rows`` (items, 3) f64 are those of ``core.popularity``."""

    def __init__(self, half_life_ms: float, rows: F64 | None = None) -> None:
        self._half_life_ms = half_life_ms
        self.rows: F64 = np.zeros((0, WIDTH)) if rows is None else rows

    def grow(self, size: int) -> None:
        """Make room for at least ``size`` items."""
        if size > len(self.rows):
            more = np.zeros((max(1024, size, 2 * len(self.rows)), WIDTH))
            more[: len(self.rows)] = self.rows
            self.rows = more

    def add(self, item: I64, weight: F64, time_ms: I64) -> None:
        """Count n events in order, arrays (n,); a negative weight takes an event back."""
        if not item.size:
            return
        self.grow(int(item.max()) + 1)
        kernels.count(
            np.ascontiguousarray(item, np.int64),
            np.ascontiguousarray(weight, np.float64),
            np.ascontiguousarray(time_ms, np.int64),
            1.0 / self._half_life_ms,
            self.rows,
        )
