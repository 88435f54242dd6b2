"""Deletions, in their place in the order: what was acknowledged before one cannot come back after it."""

from collections.abc import Sequence

import numpy as np

from service.learning.counters import ItemCounters
from service.learning.rows import ItemRows, UserRows
from service.store.log.codec import DELETE_ITEM, DELETE_RATING, read_history
from service.store.profiles.histories import live, without_pair
from service.store.profiles.rows import RowStore
from service.store.profiles.writer import Commit, ProfileWriter, Rewritten


class Deletions:
    """Turns one deletion into what its commit writes. What the experts learned before, they keep."""

    def __init__(
        self,
        writer: ProfileWriter,
        store: RowStore,
        items: ItemRows,
        users: UserRows,
        counters: ItemCounters,
        deleted: dict[int, int],
    ) -> None:
        self._writer, self._store, self._deleted = writer, store, deleted
        self._items, self._users, self._counters = items, users, counters

    def carry_out(self, kind: int, user: str, item: int, commit: Commit) -> Sequence[str]:
        """Put it into the commit; returns the users whose rows must be read anew after it."""
        if kind == DELETE_RATING:
            return self._rating(user, item, commit)
        if kind == DELETE_ITEM:
            return self._item(item, commit)
        return self._user(user, commit)

    def _rating(self, user: str, item: int, commit: Commit) -> Sequence[str]:
        history, trimmed = self._store.history(user)
        seen = np.frombuffer(trimmed, dtype="<u4")
        recorded = read_history(history)
        kept = without_pair(recorded, item).tobytes()
        gone = live(recorded[recorded["item"] == item], self._deleted)
        commit.counts = self._counters.take_away(gone)
        commit.rewritten = [Rewritten(user, kept, seen[seen != item].tobytes())]
        commit.touched_users = [user]
        return [user]

    def _user(self, user: str, commit: Commit) -> Sequence[str]:
        commit.removed_users = commit.touched_users = [user]
        commit.last_generation = self._writer.last_generation()
        commit.removed_impressions = self._writer.impressions_of(user)
        history, _ = self._store.history(user)
        # last: what changes the memory must not be done twice when the store stops answering
        commit.counts = self._counters.take_away(live(read_history(history), self._deleted))
        return [user]

    def _item(self, item: int, commit: Commit) -> Sequence[str]:
        self._deleted[item] = commit.watermark
        commit.deleted_items = {item: commit.watermark}
        commit.touched_items = np.array([item], dtype="<u4").tobytes()
        if self._items.is_here(item):
            self._items.start_over(item)
            commit.item_heads = [self._items.heads[item]]
            commit.item_rows = self._items.table.rows[[item]]
        commit.counts = self._counters.start_over(item)
        # their rings hold ratings that no longer count
        return self._users.with_recent(item)
