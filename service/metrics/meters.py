"""The counters and histograms of one process, as numbers in an array: a count costs 0.1 us.

A request takes some 40 us of a process, so it may not pay for locks and look-ups. Therefore each
series has a place in the array, and whoever counts keeps it. One thread counts one series, because
adding to a number is not atomic; series may be made by any thread.
"""

import threading
from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from service.metrics.catalogue import Metric

CELLS = 16_384
"""Numbers that a process has room for: about 900 histograms."""


class Series(NamedTuple):
    """A metric with a value for each label, and where its numbers begin."""

    metric: Metric
    values: tuple[str, ...]
    at: int


class Count:
    """A counter."""

    __slots__ = ("_at", "_cells")

    def __init__(self, cells: "memoryview[float]", at: int) -> None:
        self._cells, self._at = cells, at

    def add(self, n: float = 1.0) -> None:
        """Count ``n`` more."""
        self._cells[self._at] += n


class Spread:
    """A histogram."""

    __slots__ = ("_at", "_bounds", "_cells", "_sum")

    def __init__(self, cells: "memoryview[float]", at: int, bounds: tuple[float, ...]) -> None:
        self._cells, self._at, self._bounds = cells, at, bounds
        self._sum = at + len(bounds) + 1

    def note(self, value: float, n: float = 1.0) -> None:
        """Note a value that occurred ``n`` times."""
        cells = self._cells
        cells[self._at + bisect_left(self._bounds, value)] += n
        cells[self._sum] += n * value


class Meters:
    """All series of a process; without a file behind them, they end with it."""

    def __init__(
        self,
        cells: "memoryview[float] | None" = None,
        known: tuple[Series, ...] = (),
        taken: int = 0,
        write_down: Callable[[Series], None] | None = None,
    ) -> None:
        """``cells`` hold the ``known`` series already, in the first ``taken``."""
        self._cells = memoryview(bytearray(8 * CELLS)).cast("d") if cells is None else cells
        self._series = {(one.metric.name, one.values): one for one in known}
        self._taken, self._write_down = taken, write_down
        self._lock = threading.Lock()
        self.is_shared = write_down is not None
        """Whether other processes see these numbers."""

    def count(self, metric: Metric, *values: str) -> Count:
        """Return the counter with these values of the labels; it begins at 0."""
        return Count(self._cells, self._place(metric, values))

    def spread(self, metric: Metric, *values: str) -> Spread:
        """Return the histogram with these values of the labels; it begins empty."""
        return Spread(self._cells, self._place(metric, values), metric.bounds)

    def series(self) -> list[tuple[Series, list[float]]]:
        """Return every series with its numbers."""
        cells = self._cells
        return [
            (one, list(cells[one.at : one.at + one.metric.cells]))
            for one in tuple(self._series.values())
        ]

    def _place(self, metric: Metric, values: tuple[str, ...]) -> int:
        with self._lock:
            one = self._series.get((metric.name, values))
            if one is None:
                one = self._make(metric, values)
            return one.at

    def _make(self, metric: Metric, values: tuple[str, ...]) -> Series:
        if len(values) != len(metric.labels):
            raise ValueError(f"{metric.name} has the labels {metric.labels}, not {values}")
        if self._taken + metric.cells > len(self._cells):
            raise ValueError(f"there is no room for {metric.name} {values}: raise CELLS")
        one = Series(metric, values, self._taken)
        if self._write_down is not None:
            self._write_down(one)
        self._taken += metric.cells
        self._series[metric.name, values] = one
        return one
