"""Which items follow which, counted with every event; the learner and a rebuild use this code.

A commit appends the changes to the journal, and writes a few rows.
"""

from collections.abc import Iterator

import numpy as np

from core.meaning import EventMeanings
from core.transitions.journal import LEARN, TAKE_BACK, Replay, forget_record, steps_record
from core.transitions.sweep import ROUND_BYTES, Sweep
from core.transitions.table import MOST_ROW_BYTES, Counted, Taken, Transitions, latest_of
from core.types import F32, I32, I64, U8
from service.learning.state.horizon import Horizon
from service.settings import Settings
from service.store.profiles.histories import Records
from service.store.profiles.partition_reader import PartitionReader
from service.store.profiles.transitions import TransitionRows, TransitionsChange

_FRAMED_ROW = MOST_ROW_BYTES + 32
"""Largest number of bytes of a row in a commit, with its number."""


class ItemTransitions:
    """The counts in memory; each change returns its records for the journal."""

    def __init__(
        self,
        settings: Settings,
        meanings: EventMeanings,
        horizon: Horizon | None = None,
        *,
        round_bytes: int = ROUND_BYTES,
    ) -> None:
        """``round_bytes`` is half of the journal, see ``core.transitions.sweep``."""
        self._meanings, self._round_bytes = meanings, round_bytes
        self._horizon = horizon or Horizon()
        self._table = Transitions(settings.order_half_life_h * 3_600_000)
        self._sweep = Sweep(np.empty(0, np.int64), sequence=0)
        self._most_rows = max(1, settings.commit_max_bytes // 2 // _FRAMED_ROW)

    def load(self, reader: PartitionReader, generation: int, watermark: int = 0) -> None:
        """Load the stored rows, and replay the journal; the next commit follows ``watermark``."""
        replay, n_bytes = Replay(self._table, self._horizon.until_ms), 0
        for page in reader.transitions(generation):
            replay.load(page.items, page.rows)
        for sequence, entry in reader.transition_journal(generation):
            replay.apply(sequence, entry)
            n_bytes += len(entry)
        self._sweep = Sweep(
            replay.changed,
            sequence=watermark,
            journal_bytes=n_bytes,
            round_bytes=self._round_bytes,
        )

    def learn(
        self,
        latest: I32,
        slots: I64,
        *,
        user: I64,
        item: I64,
        kind: U8,
        value: F32,
        time_ms: I64,
    ) -> bytes:
        """Count n events in the order of the log, and update the latest items of their users.

        Their times lie within the horizon.
        ``slots`` (k,) are the distinct rows of the users in ``latest``, ``user`` (n,) says whose
        an event is.
        """
        weight = self._meanings.meaning(kind, value).weight
        at = np.flatnonzero(weight)
        steps = Taken(
            user[at], item[at].astype(np.int32), weight[at].astype(np.float32), time_ms[at]
        )
        own = latest[slots]
        record = self._follow(LEARN, steps, own)
        latest[slots] = own
        return record

    def rewrite(self, old: Records, new: Records) -> bytes:
        """Count the history of one user again, after records were added or removed."""
        old, new = self._steps(old), self._steps(new)
        first, end = _unlike(old, new)
        before = _latest(old[:first])[None]
        gone, come = old[first : len(old) - end], new[first : len(new) - end]
        taken_back = self._follow(TAKE_BACK, self._taken(gone), before.copy())
        return taken_back + self._follow(LEARN, self._taken(come), before)

    def merge(self, own: Records, theirs: Records, joined: Records) -> bytes:
        """Count two histories as one, in the order of the joined one."""
        return self.rewrite(theirs, theirs[:0]) + self.rewrite(own, joined)

    def start_over(self, item: int) -> bytes:
        """Remove a deleted item."""
        record = forget_record(item)
        changed = self._table.forget(item, np.arange(self._table.n_items))
        self._sweep.mark(changed, len(record))
        return record

    def turn(self, entry: bytes, sequence: int) -> TransitionsChange:
        """Return what the commit of some changes writes, the last event of which is given."""
        turn = self._sweep.turn(sequence, self._most_rows)
        return TransitionsChange(
            entry=entry, rows=self._rows(turn.rows, sequence), obsolete=turn.obsolete
        )

    @property
    def owed_bytes(self) -> int:
        """Return the bytes of rows that the next commit writes in any case, at most."""
        return min(self._most_rows, self._sweep.owed_rows + 1) * _FRAMED_ROW

    def bytes_of(self, n: int) -> float:
        """Return the bytes of a commit, at most, for so many bytes of the journal, with rows."""
        return n * (1.0 + self._sweep.rows_a_byte * _FRAMED_ROW)

    def all(self, sequence: int = 0) -> TransitionRows:
        """Return the rows of all items as of an event."""
        return self._rows(np.flatnonzero(self._table.row_ms), sequence)

    def differences(self, other: "ItemTransitions") -> Iterator[str]:
        """Yield the names of the rows that differ in any bit."""
        own, their = (
            dict(zip(all_.items, all_.rows, strict=True)) for all_ in (self.all(), other.all())
        )
        for item in sorted(own | their):
            if own.get(item) != their.get(item):
                yield f"transitions {item}"

    def counted(self) -> Counted:
        """Return a copy of the counts."""
        return self._table.counted()

    def weighs(self, kind: U8, value: F32) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Mark the events that are steps."""
        return np.asarray(self._meanings.meaning(kind, value).weight > 0.0)

    def latest(self, history: Records) -> I32:
        """Return the latest items of a user with this history, (REACH,)."""
        return _latest(self._steps(history))

    def _steps(self, history: Records) -> Records:
        steps: Records = history[self.weighs(history["kind"], history["value"])]
        return steps

    def _taken(self, steps: Records) -> Taken:
        weight = self._meanings.meaning(steps["kind"], steps["value"]).weight
        return Taken(
            np.zeros(len(steps), np.int64),
            steps["item"].astype(np.int32),
            weight.astype(np.float32),
            self._horizon.counted(steps["time_ms"].astype(np.int64)),
        )

    def _follow(self, kind: int, steps: Taken, latest: I32) -> bytes:
        record = steps_record(kind, latest, steps)
        follow = self._table.learn if kind == LEARN else self._table.take_back
        follow(steps, latest)
        self._sweep.mark(steps.item, len(record))
        return record

    def _rows(self, items: I64, sequence: int) -> TransitionRows:
        return TransitionRows(items.tolist(), self._table.packed(items, sequence))


def _latest(steps: Records) -> I32:
    return latest_of(steps["item"].astype(np.int32))


def _unlike(old: Records, new: Records) -> tuple[int, int]:
    """Return how many first steps are the same, and how many last ones follow the same items."""
    n = min(len(old), len(new))
    unlike = np.flatnonzero(old[:n] != new[:n])
    first = int(unlike[0]) if unlike.size else n
    unlike = np.flatnonzero(old[::-1][: n - first] != new[::-1][: n - first])
    end = int(unlike[0]) if unlike.size else n - first
    # the latest items differ until enough others have come: compare them where they change
    last = new["item"][len(new) - end :].astype(np.int32)
    for past in [0, *(np.flatnonzero(np.diff(last, prepend=-1)) + 1).tolist()]:
        left = end - past
        if (_latest(old[: len(old) - left]) == _latest(new[: len(new) - left])).all():
            return first, left
    return first, 0
