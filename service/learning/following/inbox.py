"""The follower's inbox: views of the learner's state, and a sample of the new positives.

A positive costs the learner the copy of one row. Positives that do not fit are counted as passed
over; the learner never waits.
"""

import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.rng import mix
from core.types import F32, I64
from service.learning.backlog import Backlog
from service.learning.batch import Batch
from service.learning.counters import ItemCounters
from service.learning.following.views import View, Views
from service.learning.rows import UserRows

WAITING = 1_000
"""Largest number of positives that wait to be judged."""


@dataclass(frozen=True, eq=False)
class Sighting:
    """A positive with the state before it: neither the row nor the view has learned the event."""

    user: str
    item: int
    time_ms: int
    """Time of the event in ms."""
    sequence: int
    follows: int
    """Watermark of the previous commit: api processes could rank with the history up to here."""
    user_row: F32
    """The user's row as of ``follows``."""
    view: View
    """The newest view, as of ``follows`` or earlier."""


class Inbox:
    """Filled by the learner's thread, emptied by the follower's."""

    def __init__(self, views: Views, users: UserRows, counters: ItemCounters, per_s: float) -> None:
        self._views, self._users, self._counters, self._per_s = views, users, counters, per_s
        self._tokens, self._refilled = max(per_s, 1.0), time.monotonic()
        self._waiting: deque[Sighting] = deque()
        self._guard = threading.Lock()
        self._view: View | None = None
        self.is_followed = False
        """Whether a follower empties the inbox; without one nothing is put in."""
        self.committed = 0
        """Sequence of the last event whose history is stored."""
        self.passed_over = 0
        """Number of positives that were not put in or were dropped."""
        self.is_busy = False
        """Whether events wait for the learner: the follower should rest."""
        self.arrived = threading.Event()
        """Set when there may be something to take."""
        self._deleted: deque[tuple[int, int]] = deque()

    # --- the learner's side -----------------------------------------------------------------------

    def refresh(self, watermark: int) -> None:
        """Take a view if one is due; to be called between two batches."""
        if not self.is_followed:
            return
        before, view = self._views.current, self._views.refresh(watermark)
        if view is not None:
            self._view = view
            self._drop_all_but(before)
            self.arrived.set()

    def before(self, backlog: Backlog, batch: Batch, follows: int) -> None:
        """Put in some of a batch's positives; to be called before the batch is learned."""
        view = self._views.current
        if view is None or self._per_s <= 0.0 or not batch.history.size or not self.is_followed:
            return
        self._refill()
        at = batch.history + backlog.at
        positive = batch.history[self._counters.positive(backlog.kind[at], backlog.value[at])]
        room = min(int(self._tokens), WAITING - len(self._waiting))
        chosen = _sample(positive, backlog.sequence[positive + backlog.at], room)
        self._tokens -= chosen.size
        self.passed_over += positive.size - chosen.size
        for position in chosen.tolist():
            user = batch.user[position]
            sighting = Sighting(
                user=batch.users[user],
                item=int(backlog.item[backlog.at + position]),
                time_ms=int(backlog.time_ms[backlog.at + position]),
                sequence=int(backlog.sequence[backlog.at + position]),
                follows=follows,
                user_row=self._users.table.rows[batch.slots[user]].copy(),
                view=view,
            )
            with self._guard:
                self._waiting.append(sighting)

    def commit(self, watermark: int, deleted: Mapping[int, int]) -> None:
        """Note a commit: its watermark, and the items that it deleted with their sequences."""
        if self.is_followed:
            self._deleted.extend(deleted.items())
        self.committed = watermark
        if self._waiting:
            self.arrived.set()

    def _drop_all_but(self, view: View | None) -> None:
        """Drop positives with older views than this one: two views at most stay in memory."""
        with self._guard:
            while self._waiting and self._waiting[0].view is not view:
                self._waiting.popleft()
                self.passed_over += 1

    def _refill(self) -> None:
        now = time.monotonic()
        self._tokens += (now - self._refilled) * self._per_s
        self._tokens, self._refilled = min(self._tokens, max(self._per_s, 1.0)), now

    # --- the follower's side ----------------------------------------------------------------------

    def take_view(self) -> View | None:
        """Return the newest view; None if it was taken before."""
        view, self._view = self._view, None
        return view

    def take_deleted(self) -> dict[int, int]:
        """Return the items deleted since the last call, with the sequences of their deletion."""
        taken = {}
        while self._deleted:
            item, sequence = self._deleted.popleft()
            taken[item] = sequence
        return taken

    def take_sighting(self) -> Sighting | None:
        """Return the next positive if its event is committed, else None."""
        with self._guard:
            if self._waiting and self._waiting[0].sequence <= self.committed:
                return self._waiting.popleft()
        return None


def _sample(positions: I64, sequence: I64, most: int) -> I64:
    """Return up to ``most`` of the positions, in order, drawn by a hash of the sequence."""
    if positions.size <= most:
        return positions
    if most <= 0:
        return positions[:0]
    least = np.argpartition(mix(sequence.astype(np.uint64)), most)[:most]
    return positions[np.sort(least)]
