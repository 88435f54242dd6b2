"""Which items follow which, counted with every event; the learner and a rebuild use this code."""

import numpy as np

from core.meaning import EventMeanings
from core.transitions.table import Counted, Taken, Transitions, latest_of
from core.types import F32, I32, I64, U8
from service.settings import Settings
from service.store.profiles.histories import Records
from service.store.profiles.transitions import NO_TRANSITIONS, TransitionRows


class ItemTransitions:
    """The counts in memory; each change returns the rows that the commit writes."""

    def __init__(self, settings: Settings, meanings: EventMeanings) -> None:
        self._meanings = meanings
        self._table = Transitions(settings.order_half_life_h * 3_600_000)

    def load(self, rows: TransitionRows) -> None:
        """Load stored rows."""
        self._table.unpack(rows.items, rows.rows)

    def learn(
        self, latest: I32, *, slot: I64, item: I64, kind: U8, value: F32, time_ms: I64
    ) -> TransitionRows:
        """Count n events in the order of the log, and update the latest items of their users."""
        weight = self._meanings.meaning(kind, value).weight
        at = np.flatnonzero(weight)
        steps = Taken(
            slot[at], item[at].astype(np.int32), weight[at].astype(np.float32), time_ms[at]
        )
        return self._rows(self._table.learn(steps, latest))

    def rewrite(self, old: Records, new: Records) -> TransitionRows:
        """Count the history of one user anew, after some of its records have left or come."""
        old, new = self._steps(old), self._steps(new)
        first, end = _unlike(old, new)
        before = _latest(old[:first])[None]
        gone, come = old[first : len(old) - end], new[first : len(new) - end]
        changed = self._table.take_back(self._taken(gone), before.copy())
        return self._rows(np.union1d(changed, self._table.learn(self._taken(come), before)))

    def merge(self, own: Records, theirs: Records, joined: Records) -> TransitionRows:
        """Count two histories as one, in the order of the joined one."""
        first = self.rewrite(theirs, theirs[:0])
        second = self.rewrite(own, joined)
        # an item may have changed twice: of equal fields the last counts
        return TransitionRows([*first.items, *second.items], [*first.rows, *second.rows])

    def start_over(self, item: int) -> TransitionRows:
        """Remove a deleted item."""
        return self._rows(self._table.forget(item))

    def all(self) -> TransitionRows:
        """Return the rows of all items."""
        return self._rows(np.flatnonzero(self._table.row_ms))

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
            steps["time_ms"].astype(np.int64),
        )

    def _rows(self, items: I64) -> TransitionRows:
        if not items.size:
            return NO_TRANSITIONS
        return TransitionRows(items.tolist(), self._table.packed(items))


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
