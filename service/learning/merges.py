"""Merges: what was recorded of one user becomes another's, in its place in the order.

Nothing is learned twice: the merged history has every event once, in the order it was learned, but no rating that would
overrule a later one of the other user by that order alone. Of two online rows
the one with more ratings stays, the other ends; a solution over the history comes with the next ratings.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from core.online.tables import COUNT
from service.learning.counters import ItemCounters
from service.learning.rows import UserRows
from service.settings import Settings
from service.store.log.codec import read_history, sequences
from service.store.profiles.histories import compact, live, merged, overruled, rated_by_both
from service.store.profiles.rows import RowStore
from service.store.profiles.writer import Commit, ProfileWriter, Rewritten


class Merges:
    """Turns one merge into what its commit writes."""

    def __init__(
        self,
        settings: Settings,
        writer: ProfileWriter,
        store: RowStore,
        users: UserRows,
        counters: ItemCounters,
        deleted: Mapping[int, int],
    ) -> None:
        self._settings, self._writer, self._store = settings, writer, store
        self._users, self._counters, self._deleted = users, counters, deleted

    def merge(self, source: str, target: str, commit: Commit) -> Sequence[str]:
        """Give the source's events to the target and end the source; returns whose rows must be read anew."""
        if source == target:
            return []
        stored = [self._store.history(user) for user in (source, target)]
        theirs, own = (read_history(records) for records, _ in stored)
        history = merged([theirs, own])
        stay = np.concatenate(rated_by_both(*(live(one, self._deleted) for one in (own, theirs))))
        late = overruled(history, stay)
        history, gone_late = history[~late], history[late]
        seen = np.union1d(*(np.frombuffer(trimmed, dtype="<u4") for _, trimmed in stored))
        if len(history) > self._settings.history_limit:
            history, gone = compact(history, self._settings.kinds, self._settings.history_limit)
            seen = np.union1d(seen, gone)
        self._keep_one_row(source, target, commit)
        self._end(source, commit)
        if history.size or seen.size:
            commit.rewritten = [Rewritten(target, history.tobytes(), seen.astype("<u4").tobytes())]
            commit.new_users = [target]
        commit.touched_users = [source, target]
        # last: what changes the memory must not be done twice when the store stops answering
        commit.counts = self._counters.take_away(live(gone_late, self._deleted))
        return [source, target]

    def move(self, user: str, through: int, commit: Commit) -> Sequence[str]:
        """Leave out what was sent to another partition; the user ends if nothing else is left."""
        records, trimmed = self._store.history(user)
        history = read_history(records)
        gone = sequences(history) <= through
        if gone.all():
            self._end(user, commit)
        else:
            commit.rewritten = [Rewritten(user, history[~gone].tobytes(), trimmed)]
        commit.touched_users = [user]
        # the other partition counts them
        commit.counts = self._counters.take_away(live(history[gone], self._deleted))
        return [user]

    def _keep_one_row(self, source: str, target: str, commit: Commit) -> None:
        [theirs, own] = self._users.take([source, target]).tolist()
        rows = self._users.table.rows
        if rows[theirs, COUNT] > rows[own, COUNT]:
            commit.user_heads = [self._users.heads[own]]
            commit.user_rows = rows[[theirs]]

    def _end(self, user: str, commit: Commit) -> None:
        commit.removed_users = [user]
        commit.last_generation = self._writer.last_generation()
        commit.removed_impressions = self._writer.impressions_of(user)
