"""Deletions, carried out in the order of the log, so that no earlier event can come back."""

import numpy as np

from service.learning.outcome import DELETED, Outcome
from service.learning.state.memory import Memory
from service.store.log.codec import DELETE_ITEM, DELETE_RATING
from service.store.profiles.commit import (
    NO_ROW_CHANGES,
    Changes,
    HistoryChanges,
    Removals,
    Rewritten,
    RowChanges,
)
from service.store.profiles.histories import live, without_pair


class Deletions:
    """Carries out a deletion. What the experts have already learned from the events stays."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def carry_out(self, kind: int, *, user: str, item: int, sequence: int) -> Outcome:
        """Delete a rating, an item or a user, as ``kind`` says."""
        if kind == DELETE_RATING:
            return self._rating(user, item)
        if kind == DELETE_ITEM:
            return self._item(item, sequence)
        return self._user(user)

    def _rating(self, user: str, item: int) -> Outcome:
        recorded, trimmed = self._memory.histories.whole(user)
        gone = live(recorded[recorded["item"] == item], self._memory.deleted)
        left = without_pair(recorded, item)
        rewritten = Rewritten(user, left, trimmed[trimmed != item])
        changes = Changes(
            counts=self._memory.counters.take_away(gone),
            transitions=self._memory.transitions.rewrite(
                live(recorded, self._memory.deleted), live(left, self._memory.deleted)
            ),
            histories=HistoryChanges(rewritten=[rewritten]),
            touched_users=[user],
        )
        return Outcome(changes=changes, stale_users=[user], counted=DELETED)

    def _user(self, user: str) -> Outcome:
        removals = removal_of(user, self._memory)
        history, _ = self._memory.histories.whole(user)
        # last: this changes the memory, and must not be repeated if the store fails before
        history = live(history, self._memory.deleted)
        changes = Changes(
            counts=self._memory.counters.take_away(history),
            transitions=self._memory.transitions.rewrite(history, history[:0]),
            removals=removals,
            touched_users=[user],
        )
        return Outcome(changes=changes, stale_users=[user], counted=DELETED)

    def _item(self, item: int, sequence: int) -> Outcome:
        self._memory.deleted[item] = sequence
        changes = Changes(
            rows=self._start_row(item),
            counts=self._memory.counters.start_over(item),
            showings=self._memory.showings.start_over(item),
            transitions=self._memory.transitions.start_over(item),
            removals=Removals(items={item: sequence}),
            touched_items=np.array([item], dtype=np.int64),
        )
        # the rings of these users hold ratings of the item, which no longer count
        stale = self._memory.users.with_recent(item)
        return Outcome(changes=changes, stale_users=stale, counted=DELETED)

    def _start_row(self, item: int) -> RowChanges:
        items = self._memory.items
        if not items.is_here(item):
            return NO_ROW_CHANGES
        items.start_over(item)
        return RowChanges(items=[item], item_rows=items.table.rows[[item]])


def removal_of(user: str, memory: Memory) -> Removals:
    """Return the removal of everything that is stored about a user."""
    return Removals(
        users=[user],
        last_generation=memory.reader.last_generation(),
        impressions=memory.reader.impressions_of(user),
    )
