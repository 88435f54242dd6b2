"""The counted transitions of many users, by the item that follows.

A step of a user to item b adds weight to the pairs (a, b) of the items a that came shortly before.
The weight belongs to the row of b, so one step changes one row, and a commit writes few rows. Rows
have bounded length: where one is full, its lightest entries give way. A row also counts how often
its item was the first one of a user, the second one and so on: how it *opens* histories. Weights
decay with the time
of events, never with a clock, so the same events in the same order give the same bits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import DataError
from core.kernels import transitions as kernels
from core.types import F32, F64, I32, I64

REACH = 10
"""Number of earlier items that a step follows."""
PREDECESSORS = 256
"""Largest number of earlier items that the row of an item holds; a multiple of 16."""
_HEADER, _ENTRY, _THROUGH = 8, 8, 6
"""Bytes of the time, of an entry and of the sequence in a packed row."""
MOST_ROW_BYTES = _HEADER + (REACH + PREDECESSORS) * _ENTRY + _THROUGH
"""Largest number of bytes of a packed row."""


@dataclass(frozen=True)
class Taken:
    """n steps of users in order, arrays (n,)."""

    slot: I64
    """Row of the user among the latest items."""
    item: I32
    weight: F32
    """At least 0; a step of weight 0 changes the latest items of its user alone."""
    time_ms: I64


@dataclass(frozen=True)
class Entries:
    """Entries of m rows, one row after the other, in the order of each row."""

    n: I64
    """Number of entries of each row, (m,)."""
    before: I32
    """The item that came before, (entries,)."""
    weight: F32
    """Weight as of the time of the row, (entries,)."""
    opening: F32
    """Weight with which the item of each row was the first one of a user, the second one and so on,
    as of the time of the row, (m, REACH)."""


@dataclass(frozen=True, eq=False)
class Counted:
    """The rows of all items at one moment, to be read by others."""

    entries: Entries
    """The entries of the items 0 .. n - 1."""
    row_ms: F64
    """Time to which the weights of each row refer, (n,)."""
    half_life_ms: float

    def arrays(self) -> dict[str, Any]:
        """Return everything as arrays for a snapshot."""
        found = self.entries
        return {
            "n": found.n,
            "before": found.before,
            "weight": found.weight,
            "opening": found.opening,
            "row_ms": self.row_ms,
            "half_life_ms": np.array([self.half_life_ms]),
        }

    @classmethod
    def of(cls, arrays: Mapping[str, Any]) -> "Counted":
        """Return the counts of such arrays; those of earlier versions have no openings."""
        n = arrays["n"]
        opening = arrays.get("opening", np.zeros((n.size, REACH), np.float32))
        entries = Entries(n, arrays["before"], arrays["weight"], opening)
        return cls(entries, arrays["row_ms"], float(arrays["half_life_ms"][0]))


def latest_of(items: I32) -> I32:
    """Return the latest items (REACH,) of a user with these steps, oldest first.

    >>> latest_of(np.array([4, 7, 7, 4, 9], np.int32))[:5].tolist()
    [9, 4, 7, 4, -1]
    """
    changes = items[np.flatnonzero(np.diff(items, prepend=-1))][-REACH:]
    latest: I32 = no_latest(1)[0]
    latest[: changes.size] = changes[::-1]
    return latest


def no_latest(n_slots: int) -> I32:
    """Return the latest items (n_slots, REACH) of users without steps."""
    return np.full((n_slots, REACH), -1, np.int32)


class Transitions:
    """The rows of all items."""

    def __init__(self, half_life_ms: float, n_predecessors: int = PREDECESSORS) -> None:
        if not half_life_ms > 0.0:
            raise DataError(f"the half-life must be above 0, not {half_life_ms}")
        self.half_life_ms, self._width = half_life_ms, n_predecessors
        self.n_items = 0
        """Number of items; they are the items 0 .. n_items - 1."""
        self._allocate(0)

    @property
    def row_ms(self) -> F64:
        """Return the time to which the weights of each row refer, (items,); 0 without steps."""
        return self._row_ms[: self.n_items]

    def grow(self, size: int) -> None:
        """Make room for the items 0 .. size - 1."""
        if size > len(self._row_ms):
            n, old = self.n_items, self._arrays
            self._allocate(max(1024, size, 2 * n))
            for into, part in zip(self._arrays, old, strict=True):
                into[:n] = part[:n]
        self.n_items = max(self.n_items, size)

    def learn(self, steps: Taken, latest: I32) -> None:
        """Count steps in order, in the rows of their items, and update ``latest`` (slots, REACH).

        ``latest`` holds the latest items of each user, newest first; see ``no_latest``.
        """
        self._follow(steps, latest, 1.0)

    def take_back(self, steps: Taken, latest: I32) -> None:
        """Take back steps that were counted before, and update ``latest``."""
        self._follow(steps, latest, -1.0)

    def forget(self, item: int, rows: I64) -> I64:
        """Remove an item as one that comes before, and its row; return the rows that changed.

        Only the given rows change.
        """
        changed = np.empty(rows.size, np.int64)
        n = kernels.forget(item, rows, self._before, self._weights, changed)
        own = rows[rows == item]
        for part in self._arrays:
            part[own] = 0
        return np.union1d(changed[:n], own)

    def bound(self, until_ms: float) -> None:
        """Let the weights of rows that are dated later refer to this time: it was a bad clock.

        Otherwise nothing that is learned from now on would weigh anything in these rows.
        """
        np.minimum(self._row_ms, until_ms, out=self._row_ms)

    def entries(self, items: I64) -> Entries:
        """Return the entries in the rows of some items (m,)."""
        n = np.empty(items.size, np.int64)
        kernels.count_entries(items, self._before, n)
        total = int(n.sum())
        before, weight = np.empty(total, np.int32), np.empty(total, np.float32)
        found = Entries(n, before, weight, self._opening[items])
        kernels.gather(items, self._before, self._weights, found.before, found.weight)
        return found

    def counted(self) -> Counted:
        """Return a copy of all rows."""
        entries = self.entries(np.arange(self.n_items))
        return Counted(entries, self.row_ms.copy(), self.half_life_ms)

    def packed(self, items: I64, through: int = 0) -> list[bytes]:
        """Return the row of each item as bytes: its time, items before, their weights, ``through``.

        ``through`` is the sequence of the last event that the rows count, a u48.
        """
        last = through.to_bytes(_THROUGH, "little")
        found = _with_openings(self.entries(items))
        times = self._row_ms[items].astype("<f8").tobytes()
        before, weight = found.before.astype("<i4").tobytes(), found.weight.astype("<f4").tobytes()
        ends = np.cumsum(4 * found.n)
        bounds = zip((ends - 4 * found.n).tolist(), ends.tolist(), strict=True)
        return [
            times[8 * i : 8 * i + 8] + before[first:end] + weight[first:end] + last
            for i, (first, end) in enumerate(bounds)
        ]

    def unpack(self, items: Sequence[int], rows: Sequence[bytes]) -> list[int]:
        """Load rows that ``packed`` has made into empty ones; return ``through`` of each.

        Rows of earlier versions have no such sequence: it is 0 then. Raises DataError for others.
        """
        through = []
        for item, row in zip(items, rows, strict=True):
            n, rest = divmod(len(row) - _HEADER, _ENTRY)
            self.grow(item + 1)
            if rest not in {0, _THROUGH} or n < 0 or not self._load(item, row, n):
                raise DataError(
                    f"the transitions of item {item} are damaged: run `hedgerow rebuild`"
                )
            through.append(int.from_bytes(row[len(row) - rest :], "little"))
        return through

    def _load(self, item: int, row: bytes, n: int) -> bool:
        self._row_ms[item] = np.frombuffer(row, "<f8", 1)[0]
        if not np.isfinite(self._row_ms[item]):
            return False
        before = np.frombuffer(row, "<i4", n, _HEADER).astype(np.int32)
        weight = np.frombuffer(row, "<f4", n, _HEADER + 4 * n).astype(np.float32)
        n_openings = int(np.argmin(np.append(before, 0) < 0))
        places, opened = -1 - before[:n_openings], weight[:n_openings]
        if not ((places < REACH) & (opened >= 0.0) & (opened < np.inf)).all():
            return False
        self._opening[item, places] = opened
        before, weight = before[n_openings:], weight[n_openings:]
        return kernels.load(before, weight, self._before[item], self._weights[item])

    def _follow(self, steps: Taken, latest: I32, sign: float) -> None:
        if not steps.item.size:
            return
        self.grow(int(steps.item.max()) + 1)
        kernels.follow(
            np.ascontiguousarray(steps.slot, np.int64),
            np.ascontiguousarray(steps.item, np.int32),
            np.ascontiguousarray(steps.weight, np.float32),
            np.ascontiguousarray(steps.time_ms, np.int64),
            1.0 / self.half_life_ms,
            sign,
            latest,
            self._before,
            self._weights,
            self._opening,
            self._row_ms,
        )

    @property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self._before, self._weights, self._opening, self._row_ms

    def _allocate(self, size: int) -> None:
        # zeros: the system gives memory to rows when they are first written
        self._before: I32 = np.zeros((size, self._width), np.int32)
        """Item number + 1 of each entry, 0 where unused."""
        self._weights: F32 = np.zeros((size, self._width), np.float32)
        self._opening: F32 = np.zeros((size, REACH), np.float32)
        """Weight with which each item was the first one of a user, the second one and so on."""
        self._row_ms: F64 = np.zeros(size)


def _with_openings(found: Entries) -> Entries:
    """Return the entries as rows are stored: first those of openings, with -1 - place as item."""
    row, place = np.nonzero(found.opening)
    first = (np.cumsum(found.n) - found.n)[row]
    n = found.n + np.bincount(row, minlength=found.n.size)
    before = np.insert(found.before, first, (-1 - place).astype(np.int32))
    weight = np.insert(found.weight, first, found.opening[row, place])
    return Entries(n, before, weight, found.opening)
