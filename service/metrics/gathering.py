"""The sum of what all processes of a folder have counted."""

from array import array
from pathlib import Path

from service.metrics.catalogue import Metric
from service.metrics.meters import Meters
from service.metrics.seats import SIZE, written

Sums = dict[Metric, dict[tuple[str, ...], list[float]]]
"""The numbers of each series, by its labels' values."""


def gathered(folder: Path, own: Meters) -> Sums:
    """Return the sums over all seats, and over ``own`` if these have none."""
    sums: Sums = {}
    for names in sorted(folder.glob("*.names")):
        # names first: a series is named before it is counted
        found = written(names.read_bytes())
        # a file that a disaster has cut counts as far as it goes
        cells = array("d", names.with_suffix(".cells").read_bytes()[:SIZE].ljust(SIZE, b"\0"))
        for metric, values, at in found.series:
            _add(sums, metric, values, cells[at : at + metric.cells].tolist())
    if not own.is_shared:
        for (metric, values, _), numbers in own.series():
            _add(sums, metric, values, numbers)
    return sums


def _add(sums: Sums, metric: Metric, values: tuple[str, ...], numbers: list[float]) -> None:
    series = sums.setdefault(metric, {})
    before = series.get(values)
    if before is not None:
        numbers = [a + b for a, b in zip(before, numbers, strict=True)]
    series[values] = numbers
