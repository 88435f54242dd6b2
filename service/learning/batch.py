"""A batch: events of the backlog, and the records and answers made from them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.types import I64
from service.learning.backlog import Backlog
from service.learning.outcome import Outcome
from service.store.log.change import NO_ANSWERS
from service.store.log.codec import AWAITED, AWAITED_ANSWER, DUPLICATE, LEARNED, NOT_A_RATING
from service.store.profiles.contexts import packed_entry
from service.store.profiles.histories import Numbers, Records
from service.store.profiles.history_record import HISTORY, records

IMPRESSIONS_AN_ENTRY = 64
"""Largest number of impressions in one entry of the side stream."""


@dataclass(frozen=True)
class Batch:
    """Events ``backlog.at .. end - 1``; positions count from ``backlog.at``."""

    end: int
    users: list[str]
    slots: I64
    """(k,) slots of ``users`` in ``UserRows``."""
    user: I64
    """(n,) index of each event's user in ``users``."""
    rating: I64
    """Positions of the ratings to learn."""
    history: I64
    """Positions of the events that enter a history."""
    impression: I64
    """Positions of the impressions."""
    full: tuple[Records, Numbers] | None
    """Stored history and trimmed items of the user whose history the last event makes too long."""


@dataclass(frozen=True)
class HistoryRuns:
    """New records by user: records ``starts[i] .. ends[i] - 1`` belong to user ``user[i]``."""

    records: NDArray[Any]
    user: I64
    starts: I64
    ends: I64

    def pieces(self) -> list[memoryview]:
        """Return the bytes of each run."""
        flat = self.records.view(np.uint8).data
        first, last = self.starts * HISTORY.itemsize, self.ends * HISTORY.itemsize
        return [flat[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)]


def history_runs(backlog: Backlog, batch: Batch, positions: I64) -> HistoryRuns:
    """Return the records of some events of a batch, grouped by user, in the order of events."""
    user = batch.user[positions]
    # 16-bit numbers, because numpy uses radix sort for them
    short = user.astype(np.uint16) if len(batch.slots) <= 1 << 16 else user
    order = np.argsort(short, kind="stable")
    at, user = positions[order] + backlog.at, user[order]
    packed = records(
        backlog.item[at],
        backlog.value[at],
        backlog.time_ms[at],
        backlog.sequence[at],
        backlog.kind[at],
    )
    starts = np.flatnonzero(np.diff(user, prepend=-1))
    return HistoryRuns(packed, user[starts], starts, np.append(starts[1:], len(user)))


def impressions(backlog: Backlog, batch: Batch) -> Iterator[tuple[str, bytes]]:
    """Yield (user, records) for the side stream, a few at a time: its limit counts entries."""
    if not batch.impression.size:
        return
    runs = history_runs(backlog, batch, batch.impression)
    step = IMPRESSIONS_AN_ENTRY * HISTORY.itemsize
    for user, piece in zip(runs.user.tolist(), runs.pieces(), strict=True):
        for first in range(0, len(piece), step):
            yield batch.users[user], bytes(piece[first : first + step])


def contexts(backlog: Backlog, batch: Batch) -> dict[str, bytes]:
    """Return where the events that enter a history happened, entries by user."""
    found: dict[str, bytes] = {}
    for at in batch.history.tolist() if backlog.contexts else ():
        context = backlog.contexts.get(backlog.at + at)
        if context:
            user = batch.users[batch.user[at]]
            entry = packed_entry(int(backlog.sequence[backlog.at + at]), context)
            found[user] = found.get(user, b"") + entry
    return found


def answers(backlog: Backlog, end: int, outcome: Outcome) -> NDArray[Any]:
    """Return the answers for requests that wait for events of the batch, for the change feed."""
    first = backlog.at
    awaited = np.flatnonzero(backlog.flags[first:end] & AWAITED)
    if not awaited.size:
        return NO_ANSWERS
    answered = np.zeros(awaited.size, dtype=AWAITED_ANSWER)
    answered["sequence"] = backlog.sequence[first + awaited]
    repeated = backlog.repeated[first + awaited] != 0
    answered["status"] = np.where(repeated, DUPLICATE, NOT_A_RATING)
    rating, learned = outcome.rating, outcome.learned
    if learned is not None:
        at = np.minimum(np.searchsorted(rating, awaited), rating.size - 1)
        is_rating = rating[at] == awaited
        answered["status"][is_rating] = LEARNED
        for name in ("rating", "low", "high"):
            answered[name][is_rating] = getattr(learned, name)[at[is_rating]]
    return answered
