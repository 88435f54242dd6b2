"""Changes of the transitions as bytes, and their replay on rows that hold some of them already.

A record is one change: the latest items of its users before the change, and their new steps. A
journal entry is several records and has a sequence. A stored row names the last sequence that it
counts, so a replay skips what the row already holds, and gives the same bits as the changes did.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import DataError
from core.transitions.table import REACH, Taken, Transitions
from core.types import I32, I64

LEARN, TAKE_BACK, FORGET = 1, 2, 3
"""Kinds of records: steps that are counted, steps that are taken back, an item that is removed."""
_HEADER = np.dtype([("kind", "<u4"), ("users", "<u4"), ("steps", "<u4"), ("item", "<i4")])
_STEP = (("slot", "<u4"), ("item", "<i4"), ("weight", "<f4"), ("time_ms", "<i8"))
"""Columns of steps, one after the other."""
STEP_BYTES = sum(np.dtype(kind).itemsize for _, kind in _STEP)
USER_BYTES = 4 * REACH
"""Bytes of a record for each step and for each of its users."""

_Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]


def steps_record(kind: int, latest: I32, steps: Taken) -> bytes:
    """Return the record of n steps; ``latest`` (users, REACH) is from before, by slot."""
    if not steps.item.size:
        return b""
    columns = (getattr(steps, name).astype(kind).tobytes() for name, kind in _STEP)
    header = _header(kind, users=len(latest), steps=steps.item.size)
    return b"".join((header, latest.astype("<i4").tobytes(), *columns))


def forget_record(item: int) -> bytes:
    """Return the record of an item that is removed."""
    return _header(FORGET, item=item)


def _header(kind: int, *, users: int = 0, steps: int = 0, item: int = 0) -> bytes:
    return np.array([(kind, users, steps, item)], _HEADER).tobytes()


class Replay:
    """Completes rows that were stored at different times, by the entries of a journal in order."""

    def __init__(self, table: Transitions, until_ms: float = np.inf) -> None:
        """Rows and steps that are dated later than ``until_ms`` count as of then."""
        self._table, self._until_ms = table, until_ms
        self._through: I64 = np.zeros(0, np.int64)
        """Last sequence that each row holds, by item."""
        self._changed: _Bools = np.zeros(0, np.bool_)

    @property
    def changed(self) -> I64:
        """Return the items whose rows changed since they were stored, in rising order."""
        return np.flatnonzero(self._changed)

    def load(self, items: Sequence[int], rows: Sequence[bytes]) -> None:
        """Load stored rows; all of them before the first entry."""
        through = self._table.unpack(items, rows)
        self._table.bound(self._until_ms)
        self._grow()
        self._through[list(items)] = through

    def apply(self, sequence: int, entry: bytes) -> None:
        """Apply an entry to all rows that do not hold it yet; DataError if it is damaged."""
        at = 0
        while at < len(entry):
            try:
                at = self._apply(sequence, entry, at)
            except ValueError as error:
                raise DataError(
                    f"entry {sequence} of the transitions is damaged: run `hedgerow rebuild`"
                ) from error

    def _apply(self, sequence: int, entry: bytes, at: int) -> int:
        """Apply the record at a position, and return its end."""
        header = np.frombuffer(entry, _HEADER, 1, at)[0]
        kind, n_users, n, item = (int(field) for field in header)
        at += _HEADER.itemsize
        if kind == FORGET:
            self._forget(sequence, item)
            return at
        latest = np.frombuffer(entry, "<i4", n_users * REACH, at).reshape(n_users, REACH)
        steps = _steps(entry, at + latest.nbytes, n)
        if kind not in {LEARN, TAKE_BACK} or not _are_sound(steps, latest):
            raise ValueError("not a record of steps")
        self._follow(sequence, kind, steps, latest.astype(np.int32))
        return at + latest.nbytes + n * STEP_BYTES

    def _follow(self, sequence: int, kind: int, steps: Taken, latest: I32) -> None:
        self._table.grow(int(steps.item.max()) + 1)
        self._grow()
        is_new = self._through[steps.item] < sequence
        # a step that the row holds moves the latest items of its user alone
        new = replace(
            steps,
            weight=np.where(is_new, steps.weight, np.float32(0.0)),
            time_ms=np.minimum(steps.time_ms, self._until_ms).astype(np.int64),
        )
        follow = self._table.learn if kind == LEARN else self._table.take_back
        follow(new, latest)
        self._changed[steps.item[is_new]] = True

    def _forget(self, sequence: int, item: int) -> None:
        # there is room for more rows than the table has, and the kernel checks nothing
        rows = np.flatnonzero(self._through[: self._table.n_items] < sequence)
        self._changed[self._table.forget(item, rows)] = True

    def _grow(self) -> None:
        missing = self._table.n_items - self._through.size
        if missing > 0:
            more = max(missing, self._through.size)
            self._through = np.concatenate([self._through, np.zeros(more, np.int64)])
            self._changed = np.concatenate([self._changed, np.zeros(more, np.bool_)])


def _steps(entry: bytes, at: int, n: int) -> Taken:
    columns = []
    for _, kind in _STEP:
        columns.append(np.frombuffer(entry, kind, n, at))
        at += columns[-1].nbytes
    slot, item, weight, time_ms = columns
    return Taken(
        slot.astype(np.int64),
        item.astype(np.int32),
        weight.astype(np.float32),
        time_ms.astype(np.int64),
    )


def _are_sound(steps: Taken, latest: NDArray[Any]) -> bool:
    """Whether the kernel may follow the steps: it checks nothing."""
    return bool(
        steps.slot.max(initial=-1) < len(latest)
        and steps.item.min(initial=0) >= 0
        and (steps.weight >= 0.0).all()
        and (steps.weight < np.inf).all()
        and latest.min(initial=-1) >= -1
    )
