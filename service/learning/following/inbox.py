"""The follower's inbox: views of the learner's state, and a sample of the new positives.

A positive costs the learner the copy of one row. Positives that do not fit are counted as passed
over; the learner never waits.
"""

import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from core.kernels.scan import Mask
from core.rng import mix
from core.stack.logit import SHORT
from core.types import F32, I64
from service.learning.backlog import Backlog
from service.learning.batch import Batch
from service.learning.following.views import View, Views
from service.learning.state.counters import ItemCounters
from service.learning.state.rows import UserRows

WAITING = 1_000
"""Largest number of positives that wait to be judged."""
MOST_TOUCHED = 10_000
"""Most users of whom the follower is told that their history must be read again; the latest."""
OF_SHORT = 0.25
"""Share of the positives that is kept for those after short histories, where there is no room for
all: they are rare where most users have been known for long, and the weights for them are learned
from no others."""


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
    extra: bool = False
    """Whether it is no part of a uniform sample, but was chosen for its short history: it teaches
    the weights, and no figure counts it."""
    context: bytes = b""
    """Where it happened, as in the log."""


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
        self.learned: Mask | None = None
        """Items that all models have learned which fold others in; None: there are no such models.

        Set by the follower, as ``followed``."""
        self.followed: AbstractSet[str] = frozenset()
        """Users of whose every change the follower is told."""
        self._taking: deque[tuple[int, str]] = deque()
        """(sequence, user) of events for other items that are not committed yet."""
        self._touched: dict[str, None] = {}

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
        self._note_takers(backlog, batch)
        view = self._views.current
        if view is None or self._per_s <= 0.0 or not batch.history.size or not self.is_followed:
            return
        self._refill()
        at = batch.history + backlog.at
        positive = batch.history[self._counters.positive(backlog.kind[at], backlog.value[at])]
        room = min(int(self._tokens), WAITING - len(self._waiting))
        short = follows_few(self._users.records[batch.slots[batch.user[positive]]])
        chosen, extra = _chosen(short, backlog.sequence[positive + backlog.at], room)
        self._tokens -= chosen.size
        self.passed_over += positive.size - chosen.size
        for position, is_extra in zip(positive[chosen].tolist(), extra.tolist(), strict=True):
            user = batch.user[position]
            sighting = Sighting(
                user=batch.users[user],
                item=int(backlog.item[backlog.at + position]),
                time_ms=int(backlog.counted_ms[backlog.at + position]),
                sequence=int(backlog.sequence[backlog.at + position]),
                follows=follows,
                user_row=self._users.table.rows[batch.slots[user]].copy(),
                view=view,
                extra=is_extra,
                context=backlog.contexts.get(backlog.at + position, b""),
            )
            with self._guard:
                self._waiting.append(sighting)

    def commit(
        self, watermark: int, deleted: Mapping[int, int], touched: Iterable[str] = ()
    ) -> None:
        """Note a commit: the items that it deleted with their sequences, and users it touched."""
        if self.is_followed:
            self._deleted.extend(deleted.items())
        users = [user for user in touched if user in self.followed]
        while self._taking and self._taking[0][0] <= watermark:
            users.append(self._taking.popleft()[1])
        self._touch(users)
        self.committed = watermark
        if self._waiting:
            self.arrived.set()

    def _note_takers(self, backlog: Backlog, batch: Batch) -> None:
        """Note the users of a batch who took an item that some model has not learned."""
        learned = self.learned
        if learned is None or not self.is_followed or not batch.history.size:
            return
        items = backlog.item[batch.history + backlog.at]
        new = items >= learned.size
        new[~new] = ~learned[items[~new]]
        last = int(backlog.sequence[batch.end - 1])
        for user in np.unique(batch.user[batch.history[new]]).tolist():
            self._taking.append((last, batch.users[user]))

    def _touch(self, users: Sequence[str]) -> None:
        if not users:
            return
        with self._guard:
            for user in users:
                self._touched.pop(user, None)
                self._touched[user] = None
            while len(self._touched) > MOST_TOUCHED:
                del self._touched[next(iter(self._touched))]

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

    def take_touched(self) -> list[str]:
        """Return the users to read again, the latest last."""
        with self._guard:
            taken, self._touched = list(self._touched), {}
        return taken

    def take_sighting(self) -> Sighting | None:
        """Return the next positive if its event is committed, else None."""
        with self._guard:
            if self._waiting and self._waiting[0].sequence <= self.committed:
                return self._waiting.popleft()
        return None


def follows_few(n_records: I64) -> Mask:
    """Mark events (n,) that follow a short history, of so many records."""
    return np.asarray((n_records > 0) & (n_records < SHORT))


def _chosen(short: Mask, sequence: I64, room: int) -> tuple[I64, Mask]:
    """Return which of n positives are judged, in order, and which of these are extra.

    The sample is drawn by a hash of the sequence; those after a short history fill what it leaves.
    """
    n, room = sequence.size, max(room, 0)
    if n <= room:
        return np.arange(n), np.zeros(n, np.bool_)
    drawn = np.argsort(mix(sequence.astype(np.uint64)), kind="stable")
    n_short = min(int(room * OF_SHORT), int(np.count_nonzero(short)))
    sample, others = np.split(drawn, [room - n_short])
    more = others[short[others]][:n_short]
    chosen = np.sort(np.concatenate([sample, more]))
    return chosen, np.isin(chosen, more)
