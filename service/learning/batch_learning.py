"""Learn a batch: update the model, histories, counters, transitions and side streams."""

from collections.abc import Callable, Mapping

import numpy as np

from core.meaning import RATING
from core.online.tables import RatingRows
from core.transitions.journal import STEP_BYTES, USER_BYTES
from core.types import I64
from service.learning.backlog import Backlog
from service.learning.batch import Batch, contexts, history_runs, impressions
from service.learning.click_through import ClickThrough
from service.learning.commit_size import COMMAND_BYTES, KEY_BYTES, CommitSize
from service.learning.learning_step import Touched, learn_ratings
from service.learning.outcome import Outcome
from service.learning.state.memory import Memory
from service.store.log.change import NO_ITEMS
from service.store.profiles.commit import (
    NO_HISTORY_CHANGES,
    NO_ROW_CHANGES,
    Changes,
    HistoryChanges,
    Rewritten,
    RowChanges,
)
from service.store.profiles.counters import Pieces
from service.store.profiles.histories import Numbers, Records, compact
from service.store.profiles.history_record import HISTORY

NO_KIND = -1


class BatchLearning:
    """Cuts batches from the backlog and learns them; the results do not depend on the cuts."""

    def __init__(self, memory: Memory, click_through: ClickThrough) -> None:
        self._memory, self._settings = memory, memory.settings
        self._click_through = click_through
        impression = self._settings.kinds.get("impression")
        self._impression = impression.code if impression else NO_KIND

    def next_batch(self, backlog: Backlog, *, max_events: int, settle: Callable[[], None]) -> Batch:
        """Return the next batch with everything that must be read for it.

        ``settle`` returns when all earlier batches are committed, because a history read from the
        store must contain their events. All reads happen here: once the model has learned, nothing
        may fail.
        """
        first = backlog.at
        end = backlog.batch_end(
            size=self._commit_size(),
            max_bytes=self._settings.commit_max_bytes,
            max_users=self._memory.users.capacity,
            max_events=max_events,
        )
        numbers = backlog.distinct_users(end)
        users = [backlog.users[number] for number in numbers.tolist()]
        slots = self._memory.users.take(users)
        position = np.zeros(len(backlog.users), dtype=np.int64)
        position[numbers] = np.arange(len(numbers))
        user = position[backlog.user_ix[first:end]]
        new, kind = backlog.repeated[first:end] == 0, backlog.kind[first:end]
        history = np.flatnonzero(new & (kind != self._impression))
        n, full = self._before_overflow(user, slots, history)
        if full is not None:
            settle()
        new, kind = new[:n], kind[:n]
        return Batch(
            end=first + n,
            users=users,
            slots=slots,
            user=user[:n],
            rating=np.flatnonzero(new & (kind == RATING)),
            history=history[: np.searchsorted(history, n)],
            impression=np.flatnonzero(new & (kind == self._impression)),
            full=None if full is None else self._memory.histories.whole(users[full]),
        )

    def learn(self, backlog: Backlog, batch: Batch) -> Outcome:
        """Learn a batch that was just taken."""
        touched = self._learn_ratings(backlog, batch)
        shown = list(impressions(backlog, batch))
        click_through = self._click_through.count(backlog, batch.end)
        histories, counts, trimmed = self._add_histories(backlog, batch)
        changes = Changes(
            rows=NO_ROW_CHANGES if touched is None else self._changed_rows(touched),
            histories=histories,
            counts=counts,
            showings=self._count_showings(backlog, batch),
            transitions=self._learn_transitions(backlog, batch),
            impressions=shown,
            click_through=click_through,
            touched_users=batch.users,
            touched_items=NO_ITEMS if touched is None else touched.items,
        )
        return Outcome(
            changes=changes,
            stale_users=[rewritten.user for rewritten in histories.rewritten],
            counted=_counted(backlog, batch, trimmed),
            rating=batch.rating,
            learned=None if touched is None else touched.learned,
        )

    def _commit_size(self) -> CommitSize:
        model, transitions = self._memory.model, self._memory.transitions
        key = KEY_BYTES + len(self._settings.namespace)
        state = sum(array.nbytes for array in model.arrays().values())
        return CommitSize(
            fixed=COMMAND_BYTES + state + transitions.owed_bytes,
            # a row and a record of steps for each user, under two keys
            user=4 * model.width + 2 * key + transitions.bytes_of(USER_BYTES),
            item=4 * model.width + 2 * key,
            event=HISTORY.itemsize + transitions.bytes_of(STEP_BYTES),
        )

    def _before_overflow(self, user: I64, slots: I64, history: I64) -> tuple[int, int | None]:
        """Return the number of events up to the first that makes a history too long, and its user.

        A history is compacted right after that event, so that the state does not depend on the
        size of batches.
        """
        n, full = len(user), None
        room = self._settings.history_limit - self._memory.users.records[slots]
        added = np.bincount(user[history], minlength=len(slots))
        for position in np.flatnonzero(added > room).tolist():
            of_user = history[user[history] == position]
            last = int(of_user[max(int(room[position]), 0)])
            if last < n:
                n, full = last + 1, position
        return n, full

    def _learn_ratings(self, backlog: Backlog, batch: Batch) -> Touched | None:
        if not batch.rating.size:
            return None
        at = batch.rating + backlog.at
        ratings = RatingRows(
            user_ix=batch.slots[batch.user[batch.rating]],
            item_ix=backlog.item[at],
            rating=backlog.value[at],
            sequence=backlog.sequence[at],
        )
        return learn_ratings(self._memory.model, self._memory.users, self._memory.items, ratings)

    def _count_showings(self, backlog: Backlog, batch: Batch) -> Pieces:
        span = slice(backlog.at, batch.end)
        new = backlog.repeated[span] == 0
        return self._memory.showings.learn(backlog.item[span][new], backlog.kind[span][new])

    def _learn_transitions(self, backlog: Backlog, batch: Batch) -> bytes:
        at = batch.history + backlog.at
        return self._memory.transitions.learn(
            self._memory.users.latest,
            batch.slots,
            user=batch.user[batch.history],
            item=backlog.item[at],
            kind=backlog.kind[at],
            value=backlog.value[at],
            time_ms=backlog.counted_ms[at],
        )

    def _changed_rows(self, touched: Touched) -> RowChanges:
        users, items = self._memory.users, self._memory.items
        new_items = touched.items[~items.stored[touched.items]].tolist()
        items.stored[touched.items] = True
        return RowChanges(
            users=[users.names[slot] for slot in touched.slots.tolist()],
            user_rows=users.table.rows[touched.slots],
            items=touched.items.tolist(),
            item_rows=items.table.rows[touched.items],
            new_items=new_items,
        )

    def _add_histories(self, backlog: Backlog, batch: Batch) -> tuple[HistoryChanges, Pieces, int]:
        """Return the changes of histories and of counters, and the number of trimmed records."""
        if not batch.history.size:
            return NO_HISTORY_CHANGES, (), 0
        at = batch.history + backlog.at
        counts = self._memory.counters.learn(
            backlog.item[at], backlog.kind[at], backlog.value[at], backlog.counted_ms[at]
        )
        runs = history_runs(backlog, batch, batch.history)
        records = runs.pieces()
        slots = batch.slots[runs.user]
        before = self._memory.users.records[slots]
        after = before + runs.ends - runs.starts
        self._memory.users.records[slots] = after
        users = [self._memory.users.names[slot] for slot in slots.tolist()]
        new_users = [users[i] for i in np.flatnonzero(before == 0).tolist()]
        rewritten: list[Rewritten] = []
        trimmed = 0
        if batch.full is not None:
            full = int(np.flatnonzero(after > self._settings.history_limit)[0])
            new = runs.records[runs.starts[full] : runs.ends[full]]
            compacted, trimmed = self._compacted(users[full], batch.full, new)
            rewritten.append(compacted)
            del users[full], records[full]
        changes = HistoryChanges(
            users=users,
            records=records,
            new_users=new_users,
            contexts=contexts(backlog, batch),
            rewritten=rewritten,
        )
        return changes, counts, trimmed

    def _compacted(
        self, user: str, stored: tuple[Records, Numbers], new: Records
    ) -> tuple[Rewritten, int]:
        history = np.concatenate([stored[0], new])
        kept, gone = compact(history, self._settings.kinds, self._settings.history_limit)
        return Rewritten(user, kept, np.union1d(stored[1], gone)), len(history) - len(kept)


def _counted(backlog: Backlog, batch: Batch, trimmed: int) -> Mapping[str, int]:
    n, ratings = batch.end - backlog.at, batch.rating.size
    repeated = int(np.count_nonzero(backlog.repeated[backlog.at : batch.end]))
    return {
        "learned": ratings,
        "duplicates": repeated,
        "others": n - repeated - ratings,
        "trimmed_records": trimmed,
    }
