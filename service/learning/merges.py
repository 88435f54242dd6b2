"""Merges: the events of one user become another's, in the order of the log.

Nothing is learned twice. The merged history has each event once, in the order of learning, except
ratings that would overrule a later one of the other user by that order alone. The online row with
more ratings stays, the other is removed; the next ratings adapt it to the merged history.
"""

import numpy as np

from core.online.tables import COUNT
from service.learning.deletions import removal_of
from service.learning.memory import Memory
from service.learning.outcome import MERGED, Outcome
from service.store.profiles.commit import (
    NO_HISTORY_CHANGES,
    NO_REMOVALS,
    NO_ROW_CHANGES,
    Changes,
    HistoryChanges,
    Rewritten,
    RowChanges,
)
from service.store.profiles.histories import (
    Numbers,
    Records,
    compact,
    live,
    merged,
    overruled,
    rated_by_both,
)
from service.store.profiles.history_record import sequences


class Merges:
    """Carries out one merge."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def merge(self, source: str, target: str) -> Outcome:
        """Give the source's events to the target and end the source."""
        if source == target:
            return Outcome(changes=Changes(), counted=MERGED)
        (theirs, their_trimmed), (own, own_trimmed) = (
            self._memory.histories.whole(user) for user in (source, target)
        )
        history, late = self._joined(own, theirs)
        history, seen = self._shortened(history, np.union1d(their_trimmed, own_trimmed))
        rows = self._row_to_keep(source, target)
        removals = removal_of(source, self._memory)
        histories = NO_HISTORY_CHANGES
        if history.size or seen.size:
            rewritten = Rewritten(target, history, seen)
            histories = HistoryChanges(rewritten=[rewritten], new_users=[target])
        changes = Changes(
            rows=rows,
            histories=histories,
            removals=removals,
            touched_users=[source, target],
            # last: what changes the memory must not be done twice when the store stops answering
            counts=self._memory.counters.take_away(live(late, self._memory.deleted)),
        )
        return Outcome(changes=changes, stale_users=[source, target], counted=MERGED)

    def move(self, user: str, through: int) -> Outcome:
        """Leave out what was sent to another partition; the user ends if nothing else is left."""
        history, trimmed = self._memory.histories.whole(user)
        gone = sequences(history) <= through
        histories, removals = NO_HISTORY_CHANGES, NO_REMOVALS
        if gone.all():
            removals = removal_of(user, self._memory)
        else:
            histories = HistoryChanges(rewritten=[Rewritten(user, history[~gone], trimmed)])
        # the other partition counts them
        counts = self._memory.counters.take_away(live(history[gone], self._memory.deleted))
        changes = Changes(
            histories=histories, removals=removals, counts=counts, touched_users=[user]
        )
        return Outcome(changes=changes, stale_users=[user], counted=MERGED)

    def _joined(self, own: Records, theirs: Records) -> tuple[Records, Records]:
        """Return the history of both, and the records that may not stay in it."""
        history = merged([theirs, own])
        alive = (live(records, self._memory.deleted) for records in (own, theirs))
        late = overruled(history, np.concatenate(rated_by_both(*alive)))
        return history[~late], history[late]

    def _shortened(self, history: Records, seen: Numbers) -> tuple[Records, Numbers]:
        settings = self._memory.settings
        if len(history) <= settings.history_limit:
            return history, seen
        history, gone = compact(history, settings.kinds, settings.history_limit)
        return history, np.union1d(seen, gone)

    def _row_to_keep(self, source: str, target: str) -> RowChanges:
        users = self._memory.users
        [theirs, own] = users.take([source, target]).tolist()
        if users.table.rows[theirs, COUNT] <= users.table.rows[own, COUNT]:
            return NO_ROW_CHANGES
        return RowChanges(users=[target], user_rows=users.table.rows[[theirs]])
