"""A seat is a place in a folder where one process at a time counts, for all who read the folder.

The first free seat of a role is taken: ``api-0``, ``api-1``, ... A lock on its file says that it is
taken, and ends with the process, however that ends. Who takes the seat next goes on with the
numbers that it finds. So no count is lost or goes back, the files do not grow in number with
restarts, and nobody needs to tidy up. ``<seat>.names`` has a line for each series, ``<seat>.cells``
the numbers in the same order.
"""

import errno
import fcntl
import json
import mmap
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from service.metrics.catalogue import BY_NAME, Metric
from service.metrics.meters import CELLS, Meters, Series
from service.telemetry import logger

SIZE = 8 * CELLS
SEATS = 1_000
"""More processes of one role share no folder."""


class Written(NamedTuple):
    """What a file of names says: the series that this version knows, and the cells of all."""

    series: tuple[Series, ...]
    cells: int
    """Taken cells, those of unknown series too."""
    size: int
    """Bytes of the complete lines."""


def metrics_folder(data_dir: Path, namespace: str) -> Path:
    """Return the folder of the processes that share a data directory and serve a namespace."""
    return data_dir / "metrics" / namespace


@contextmanager
def counting(folder: Path, role: str) -> Iterator[Meters]:
    """Take a seat and count there; where that is impossible, count in memory alone."""
    with ExitStack() as seat:
        try:
            meters = _seated(folder, role, seat)
        except OSError as error:
            seat.close()
            detail = f"{folder}: {error.strerror or error}"
            logger().warning("metrics_apart", detail=detail)
            meters = Meters()
        yield meters


def _seated(folder: Path, role: str, seat: ExitStack) -> Meters:
    """Return the meters of a free seat, which is free again when ``seat`` is closed."""
    cells, path = _take(folder, role)
    seat.callback(os.close, cells)
    # the map holds the file open, perhaps for longer
    seat.callback(fcntl.flock, cells, fcntl.LOCK_UN)
    # written in full: a map of what the disk has no room for kills the process
    while (size := os.fstat(cells).st_size) < SIZE:
        os.pwrite(cells, bytes(SIZE - size), size)
    names = os.open(path.with_suffix(".names"), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    seat.callback(os.close, names)
    return _opened(cells, names, path)


def _take(folder: Path, role: str) -> tuple[int, Path]:
    """Return the locked file of cells of the first free seat, and its path."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(SEATS):
        path = folder / f"{role}-{number}.cells"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        else:
            return descriptor, path
    raise OSError(f"all {SEATS} seats of {role} are taken")


def _opened(descriptor: int, names: int, seat: Path) -> Meters:
    """Return the meters of a seat, which go on where the process before them ended."""
    found = written(seat.with_suffix(".names").read_bytes())
    cells = memoryview(mmap.mmap(descriptor, SIZE)).cast("d")
    # cells that no name is given to were never counted in, unless a machine lost its power
    cells[found.cells :] = memoryview(bytes(8 * (CELLS - found.cells))).cast("d")
    end = found.size

    def write_down(one: Series) -> None:
        nonlocal end
        line = _line(one)
        # an incomplete line: its process ended, or the disk was full, and nothing was counted there
        os.ftruncate(names, end)
        if os.write(names, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        end += len(line)

    return Meters(cells, found.series, found.cells, write_down)


def _line(one: Series) -> bytes:
    return json.dumps([one.metric.name, one.values, one.metric.bounds]).encode() + b"\n"


def written(text: bytes) -> Written:
    """Read a file of names, up to the first line that cannot be read."""
    found: list[Series] = []
    at = size = 0
    for line in text.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        try:
            name, values, bounds = json.loads(line)
            metric, end = BY_NAME.get(name), at + (len(bounds) + 2 if bounds else 1)
        except (ValueError, TypeError):
            break
        if end > CELLS:
            break
        # of another version, perhaps: its cells stay, and nobody reads them
        if metric is not None and _fits(metric, values, bounds):
            found.append(Series(metric, tuple(values), at))
        at = end
        size += len(line)
    return Written(tuple(found), at, size)


def _fits(metric: Metric, values: list[str], bounds: list[float]) -> bool:
    return len(values) == len(metric.labels) and tuple(bounds) == metric.bounds
