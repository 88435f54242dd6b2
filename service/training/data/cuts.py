"""The cut between training events and held-out positives.

A cut is one moment for all users. If that gives too few held-out users, the cut lies before each
user's own latest positives instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.gate import FEWEST_USERS
from core.meaning import EventMeanings
from core.types import I64
from service.store.profiles.history_reader import Histories

HELD_OUT = (0.05, 0.1, 0.2)
"""Shares of the newest positives to hold out; the first with enough held-out users is taken."""
LATEST = 0.1
"""Share of each user's own positives to hold out, at least one positive.

Used if no single moment gives enough held-out users.
"""
SPLITS, JUDGEMENTS = 5, 2 * FEWEST_USERS
"""Most splits where few users can judge, and how many held-out users in all of them are enough."""
LEAST_KNOWN = 0.5
"""Least share of the training data of the first split that an earlier one has: a model of much less
says little of those that serve."""
DAY_MS = 86_400_000


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds on the held-out data and on the memory of a read."""

    day_users: int = 2_000
    """Least number of held-out users with which only the last day is held out."""
    times: int = 1 << 20
    """Size of the sample of times from which the moment is chosen."""
    rated: int = 50_000
    """Size of the sample of ratings, which may grow to twice as much before it is thinned.

    A sample is enough to tell stars apart.
    """


LIMITS = Limits()


@dataclass(frozen=True)
class Cut:
    """Events up to ``at_ms`` are training data, later positives are held out."""

    at_ms: int
    newest_ms: int
    of_each: bool = False
    """Whether each user's latest positives are held out instead.

    This is so if no single moment gives enough held-out users.
    """
    back: int = 0
    """How often the latest positives of each user were left out before: an earlier split."""

    @property
    def holds_out(self) -> bool:
        return self.of_each or self.at_ms < self.newest_ms

    @property
    def says(self) -> str:
        """Return what is held out, in words."""
        if self.of_each:
            return "the latest of each user"
        return "the newest of all" if self.holds_out else "nothing"

    def is_beyond(self, trained_until_ms: int) -> bool:
        """Return whether a model trained up to ``trained_until_ms`` has seen no held-out event."""
        return not self.of_each and trained_until_ms <= self.at_ms

    def parts(
        self, page: Histories, meanings: EventMeanings
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Mark the records of a page that are training data, and those that come after them.

        An earlier split has neither: the records after its held-out positives are in no part.
        """
        if self.of_each:
            known = ~_latest(page, meanings, self.back + 1)
            gone = _latest(page, meanings, self.back) & ~known
            return known, ~known & ~gone
        before: NDArray[np.bool_] = page.records["time_ms"] <= self.at_ms
        return before, ~before

    def earlier(self) -> "Cut":
        """Return the split before this one, which holds out the positives before the latest."""
        return replace(self, back=self.back + 1)


def _positive(records: NDArray[Any], meanings: EventMeanings) -> NDArray[np.bool_]:
    """Mark the records that say that a user likes an item."""
    return meanings.evidence(records["kind"], records["value"]) > 0.0


def _latest(page: Histories, meanings: EventMeanings, times: int) -> NDArray[np.bool_]:
    """Mark the positives that are held out in so many splits, and every record after the first.

    Only the first positive of each item counts as one. A user with too few keeps all.
    """
    n = len(page.records)
    if not times:
        return np.zeros(n, np.bool_)
    order = np.lexsort((np.arange(n), page.records["time_ms"], page.user_ix))
    user_ix, item = page.user_ix[order], page.records["item"][order].astype(np.int64)
    likes = np.flatnonzero(_positive(page.records, meanings)[order])
    first = np.unique(user_ix[likes] << 32 | item[likes], return_index=True)[1]
    new = np.zeros(n, np.int64)
    new[likes[first]] = 1
    count = np.bincount(user_ix, new, len(page.users)).astype(np.int64)
    held = times * np.maximum((LATEST * count).astype(np.int64), 1)
    held[count <= held] = 0
    upto = np.cumsum(new)
    last = np.cumsum(count)
    marked = np.zeros(n, np.bool_)
    # a record is held out if fewer new positives follow it than are to be held out
    marked[order] = last[user_ix] - upto < held[user_ix]
    return marked


class Times:
    """Times of positives: a thinned sample of all, and the first and last time of each user."""

    def __init__(self, limits: Limits = LIMITS, *, until_ms: int | None = None) -> None:
        """Positives that are dated later than ``until_ms`` count as of then."""
        self._limits, self._until_ms = limits, until_ms
        self._sample: list[I64] = []
        self._size, self._stride = 0, 1
        self._first: list[I64] = []
        self._last: list[I64] = []
        self._several = False

    def add(self, page: Histories, meanings: EventMeanings) -> None:
        """Add the positives of a page."""
        positive = _positive(page.records, meanings)
        time, user_ix = page.records["time_ms"][positive], page.user_ix[positive]
        if self._until_ms is not None:
            time = np.minimum(time, self._until_ms)
        first = np.full(len(page.users), np.iinfo(np.int64).max)
        last = np.full(len(page.users), np.iinfo(np.int64).min)
        np.minimum.at(first, user_ix, time)
        np.maximum.at(last, user_ix, time)
        self._first.append(first)
        self._last.append(last)
        self._several |= bool((np.bincount(user_ix) > 1).any())
        self._sample.append(time[:: self._stride].astype(np.int64))
        self._size += self._sample[-1].size
        if self._size > self._limits.times:
            self._sample = [np.concatenate(self._sample)[::2]]
            self._size, self._stride = self._sample[0].size, 2 * self._stride

    def cuts(self) -> Iterator[Cut]:
        """Yield the moments that promise enough held-out users, the newest first.

        The last cut is within each user; it holds out nothing if no user has two positives.
        """
        times = np.concatenate([*self._sample, np.empty(0, np.int64)])
        if times.size == 0:
            yield Cut(0, 0)
            return
        first, last = np.concatenate(self._first), np.concatenate(self._last)
        newest = int(last.max())

        def held_out(at_ms: int) -> int:
            return int(((first <= at_ms) & (last > at_ms)).sum())

        shares = [int(np.quantile(times, 1.0 - share, method="lower")) for share in HELD_OUT]
        if (day := newest - DAY_MS) > shares[0] and held_out(day) >= self._limits.day_users:
            yield Cut(day, newest)
        for at_ms in shares:
            if held_out(at_ms) >= FEWEST_USERS:
                yield Cut(at_ms, newest)
        yield Cut(newest, newest, of_each=self._several)
