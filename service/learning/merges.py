"""Merges: the events of one user become another user's, in the order of the log.

Nothing is learned twice. The merged history has each event once, in the order of learning, except
ratings that would overrule a later rating of the other user only because of that order. The online
row with more ratings is kept, the other removed; later ratings adapt it to the merged history.
"""

import numpy as np

from core.online.tables import COUNT
from service.learning.deletions import removal_of
from service.learning.outcome import MERGED, Outcome
from service.learning.state.memory import Memory
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
    """Carries out a merge."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def merge(self, source: str, target: str) -> Outcome:
        """Move the events of the source to the target, and remove the source."""
        if source == target:
            return Outcome(changes=Changes(), counted=MERGED)
        (theirs, their_trimmed), (own, own_trimmed) = (
            self._memory.histories.whole(user) for user in (source, target)
        )
        joined, late = self._joined(own, theirs)
        history, seen = self._shortened(joined, np.union1d(their_trimmed, own_trimmed))
        rows = self._row_to_keep(source, target)
        removals = removal_of(source, self._memory)
        histories = NO_HISTORY_CHANGES
        if history.size or seen.size:
            rewritten = Rewritten(target, history, seen, joined=source)
            histories = HistoryChanges(rewritten=[rewritten], new_users=[target])
        changes = Changes(
            rows=rows,
            histories=histories,
            removals=removals,
            touched_users=[source, target],
            # last: this changes the memory, and must not be repeated if the store fails before
            counts=self._memory.counters.take_away(live(late, self._memory.deleted)),
            transitions=self._memory.transitions.merge(
                *(live(records, self._memory.deleted) for records in (own, theirs, joined))
            ),
        )
        return Outcome(changes=changes, stale_users=[source, target], counted=MERGED)

    def move(self, user: str, through: int) -> Outcome:
        """Remove events that were sent to another partition, and the user if none are left."""
        history, trimmed = self._memory.histories.whole(user)
        gone = sequences(history) <= through
        histories, removals = NO_HISTORY_CHANGES, NO_REMOVALS
        if gone.all():
            removals = removal_of(user, self._memory)
        else:
            histories = HistoryChanges(rewritten=[Rewritten(user, history[~gone], trimmed)])
        # the other partition counts these events now
        alive = live(history, self._memory.deleted)
        changes = Changes(
            histories=histories,
            removals=removals,
            counts=self._memory.counters.take_away(live(history[gone], self._memory.deleted)),
            transitions=self._memory.transitions.rewrite(alive, alive[sequences(alive) > through]),
            touched_users=[user],
        )
        return Outcome(changes=changes, stale_users=[user], counted=MERGED)

    def _joined(self, own: Records, theirs: Records) -> tuple[Records, Records]:
        """Return the joined history, and the records that are left out of it."""
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
