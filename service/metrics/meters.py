"""The counters and histograms of one process, as numbers in an array: a count costs 0.1 us.

A request takes some 40 us of a process, so it may not pay for locks and look-ups. Therefore each
series has a place in the array, and whoever counts keeps it. One thread counts one series, because
adding to a number is not atomic; series may be made by any thread.
"""

import errno
import threading
from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from service.metrics.catalogue import Metric
from service.telemetry import logger

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
    """All series of a process; without a file behind them, they end with it.

    A series that there is no room for is counted where nobody reads it: whoever counts has
    something to do that must not fail because of it.
    """

    def __init__(
        self,
        cells: "memoryview[float] | None" = None,
        known: tuple[Series, ...] = (),
        taken: int = 0,
        write_down: Callable[[Series], None] | None = None,
    ) -> None:
        """``cells`` hold the ``known`` series already, in the first ``taken``.

        ``write_down`` raises OSError if the name of a series has no room.
        """
        self._cells = _new_cells(CELLS) if cells is None else cells
        self._series = {(one.metric.name, one.values): one for one in known}
        self._taken, self._write_down = taken, write_down
        self._lock = threading.Lock()
        self._has_told = False
        self.is_shared = write_down is not None
        """Whether other processes see these numbers."""

    def count(self, metric: Metric, *values: str) -> Count:
        """Return the counter with these values of the labels; it begins at 0."""
        return Count(*self._place(metric, values))

    def spread(self, metric: Metric, *values: str) -> Spread:
        """Return the histogram with these values of the labels; it begins empty."""
        return Spread(*self._place(metric, values), metric.bounds)

    def series(self) -> list[tuple[Series, list[float]]]:
        """Return every series with its numbers."""
        cells = self._cells
        return [
            (one, list(cells[one.at : one.at + one.metric.cells]))
            for one in tuple(self._series.values())
        ]

    def _place(self, metric: Metric, values: tuple[str, ...]) -> "tuple[memoryview[float], int]":
        """Return the cells of a series, and where it begins in them."""
        with self._lock:
            one = self._series.get((metric.name, values))
            try:
                return self._cells, (one or self._make(metric, values)).at
            except OSError as error:
                self._tell(f"{metric.name} {values}: {error.strerror or error}")
        return _new_cells(metric.cells), 0

    def _tell(self, detail: str) -> None:
        if not self._has_told:
            logger().warning("metrics_left_out", detail=detail)
        self._has_told = True

    def _make(self, metric: Metric, values: tuple[str, ...]) -> Series:
        if len(values) != len(metric.labels):
            raise ValueError(f"{metric.name} has the labels {metric.labels}, not {values}")
        if self._taken + metric.cells > len(self._cells):
            raise OSError(errno.ENOSPC, f"all {len(self._cells)} numbers of a process are taken")
        one = Series(metric, values, self._taken)
        if self._write_down is not None:
            self._write_down(one)
        self._taken += metric.cells
        self._series[metric.name, values] = one
        return one


def _new_cells(n: int) -> "memoryview[float]":
    return memoryview(bytearray(8 * n)).cast("d")
