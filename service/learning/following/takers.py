"""The users who took items that a model has not learned, as the histories show them.

Nothing of it is stored: a follower that starts looks through the histories once more. What it holds
follows from the histories alone, so deletions and merges count, and no event counts twice.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from core.batch.preferences import Preferences, preferences
from core.batch.takers import NOBODY, Takers
from core.kernels.scan import Mask
from core.meaning import EventMeanings
from service.learning.following.inbox import Inbox
from service.ranking.ranker import Ranker
from service.store.profiles.histories import live
from service.store.profiles.history_record import HISTORY, columns, sequences
from service.store.profiles.history_store import HistoryStore

MOST_USERS, MOST_PAIRS = 2_000, 500_000
"""Most users that are held, the latest, and most of their preferences: 8 bytes each."""
AT_ONCE = 100
"""Users whose histories are read at a time: bounds how long other clients of Redis wait."""
LATEST = 100
"""Records of each user that a follower looks through when it starts, the latest."""
SHARE = 0.02
"""Largest share of the time for looking through them."""
_NOTHING: Any = np.empty(0, np.int32)


class FollowedTakers:
    """Holds the takers of one partition; ``as_of`` brings them up to date."""

    def __init__(
        self,
        inbox: Inbox,
        histories: HistoryStore,
        meanings: EventMeanings,
        users: Callable[[], Iterator[list[str]]],
        *,
        share: float = SHARE,
        most_users: int = MOST_USERS,
    ) -> None:
        self._inbox, self._histories, self._meanings = inbox, histories, meanings
        self._users, self._share, self._most_users = users, share, most_users
        self._rows: OrderedDict[str, Preferences] = OrderedDict()
        """By user, the latest last."""
        self._again: dict[str, None] = {}
        """Users to read again at once: they may have taken something."""
        self._late: dict[str, None] = {}
        """Users with events after the last view: to be read again with the next one."""
        self._versions: frozenset[str] = frozenset()
        self._unseen: Iterator[list[str]] = iter(())
        """The users through whose histories a new follower looks."""
        self._due = 0.0

    def follow(self, models: Iterable[Ranker]) -> None:
        """Take over the models that serve now; new ones may not know what others knew."""
        masks = {one.version: mask for one in models if (mask := one.learned) is not None}
        if masks.keys() == self._versions:
            return
        self._versions = frozenset(masks)
        self._inbox.learned = _by_all(list(masks.values()))
        self._again |= dict.fromkeys(self._rows)
        self._unseen = iter(()) if self._inbox.learned is None else self._in_parts()

    def look_through(self) -> None:
        """Look through the histories of the next users, if there is time for it."""
        learned = self._inbox.learned
        if learned is None or time.monotonic() < self._due:
            return
        began = time.monotonic()
        users = next(self._unseen, [])
        tails = self._histories.tails(users, LATEST * HISTORY.itemsize) if users else []
        for user, tail in zip(users, tails, strict=True):
            if _others(tail["item"].astype(np.int64), learned).any():
                self._again[user] = None
        self._due = time.monotonic() + (time.monotonic() - began) / self._share

    @property
    def has_news(self) -> bool:
        """Whether there are users to read again who have waited for no event."""
        return bool(self._again)

    def as_of(self, watermark: int, deleted: Mapping[int, int]) -> Takers:
        """Return the takers without the events after ``watermark``."""
        learned = self._inbox.learned
        if learned is None:
            self._rows.clear()
            self._again.clear()
            return NOBODY
        users = list(self._again | self._late | dict.fromkeys(self._inbox.take_touched()))
        self._again, self._late = {}, {}
        for first in range(0, len(users), AT_ONCE):
            self._read(users[first : first + AT_ONCE], watermark, deleted, learned)
        pairs = sum(row.item_ix.size for row in self._rows.values())
        while len(self._rows) > self._most_users or pairs > MOST_PAIRS:
            pairs -= self._rows.popitem(last=False)[1].item_ix.size
        self._inbox.followed = frozenset(self._rows)
        # in this order, what is made of them does not depend on who came first
        return Takers.of_rows([self._rows[user] for user in sorted(self._rows)])

    def forget(self, items: Iterable[int]) -> None:
        """Read the takers of deleted items again."""
        gone = np.array(sorted(items), np.int32)
        for user, row in self._rows.items():
            if np.isin(gone, row.item_ix).any():
                self._again[user] = None

    def _read(
        self, users: list[str], watermark: int, deleted: Mapping[int, int], learned: Mask
    ) -> None:
        histories, _ = self._histories.of_users(users)
        for user, history in zip(users, histories, strict=True):
            records = live(history, deleted)
            if records.size and int(sequences(records).max()) > watermark:
                self._late[user] = None
            row = preferences(columns(records), self._meanings, through=watermark)
            self._rows.pop(user, None)
            if _others(row.item_ix[row.target > 0.0], learned).any():
                self._rows[user] = Preferences(row.item_ix, row.weight, row.target, _NOTHING)

    def _in_parts(self) -> Iterator[list[str]]:
        for users in self._users():
            for first in range(0, len(users), AT_ONCE):
                yield users[first : first + AT_ONCE]


def _by_all(masks: list[Mask]) -> Mask | None:
    """Return which items all of some models have learned; None without models."""
    if not masks:
        return None
    n = min(mask.size for mask in masks)
    every: Mask = np.logical_and.reduce([mask[:n] for mask in masks])
    return every


def _others(items: Any, learned: Mask) -> Mask:
    """Mark the items that are not learned."""
    new: Mask = items >= learned.size
    new[~new] = ~learned[items[~new]]
    return new
