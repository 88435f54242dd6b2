"""The learner of one partition: log entries in, one commit a batch out, strictly in order, exactly once.

It owns what the commit writes. Nothing here depends on where a batch begins or ends.
"""

import json
import time
from collections import deque
from collections.abc import Sequence

import numpy as np

from core.online.model import Learned, OnlineModel
from core.types import I64
from service import configs
from service.errors import Misconfigured
from service.learning.backlog import Backlog
from service.learning.batch import Batch, answers, history_runs, impressions
from service.learning.counters import ItemCounters
from service.learning.dedupe import DedupeWindow
from service.learning.deletions import Deletions
from service.learning.following.handover import Handover
from service.learning.following.views import Views
from service.learning.learning_step import Ratings, changed_arrays, learn_ratings, machine
from service.learning.merges import Merges
from service.learning.responses import Responses
from service.learning.rows import ItemRows, UserRows, restore
from service.learning.topics import Topics
from service.settings import Settings
from service.store.connection import Client
from service.store.keys import PartitionKeys
from service.store.log.codec import (
    AWAITED,
    AWAITED_ANSWER,
    DELETE_RATING,
    MERGE_USER,
    MOVE_USER,
    NOT_A_RATING,
    RATING,
    read_history,
)
from service.store.log.stream import LogReader
from service.store.namespace import Namespace
from service.store.profiles.histories import compact
from service.store.profiles.writer import CHANGES_LISTED, Commit, ProfileWriter, Rewritten

BLOCK_MS = 500
"""How long a read waits for the next event; also how fast a learner notices that it should stop."""
READ_BYTES = 2 << 20
"""Log read at once: bounds how long other clients of Redis wait for it."""
EXPERT_HISTORY_EVERY = 1_000
"""Events between two points of the experts' history."""
NO_KIND = -1
_FIRST_GUESS_S = 5e-6
"""What an event may take to learn, before it is measured."""
_COUNTERS = ("learned", "duplicates", "others", "deletions", "trimmed_records")


class Learner:
    """Learns one partition while its epoch lasts; raises Superseded when another one took over."""

    def __init__(
        self, settings: Settings, client: Client, namespace: Namespace, partition: int
    ) -> None:
        self._settings = settings
        self.model: OnlineModel = OnlineModel(configs.online_config(settings, namespace))
        keys = PartitionKeys(namespace.name, partition)
        self._row_bytes = 4 * self.model.width
        self._writer = ProfileWriter(client, keys, self._row_bytes)
        self._reader = LogReader(client, keys)
        self.state = self._writer.take_over(self.model.fingerprint, machine())
        self.watermark = self.state.watermark
        """Sequence of the last event that is learned and committed."""
        self._counters = {name: getattr(self.state, name) for name in _COUNTERS}
        self._rows = self._writer.rows()
        self._saved = self._rows.arrays()
        restore(self.model, self._saved)
        deleted = self._writer.deleted_items()
        self._items = ItemRows(self.model, self._rows, client, namespace.name)
        self._items.load()
        self._users = UserRows(self.model, self._rows, settings.users_in_memory, deleted)
        self._item_counters = ItemCounters(
            settings, configs.reading(settings, namespace), self._writer.counts()
        )
        self._deletions = Deletions(
            self._writer, self._rows, self._items, self._users, self._item_counters, deleted
        )
        self._merges = Merges(
            settings, self._writer, self._rows, self._users, self._item_counters, deleted
        )
        age_ms = int(settings.dedupe_max_age_h * 3_600_000)
        self._window = DedupeWindow(settings.dedupe_window, age_ms)
        self._window.load(self._writer.chunks())
        self._responses = Responses(self._writer.responses())
        self._topics = Topics(self.model, self._items, client, keys.topics)
        views = Views(self.model, self._items, self._item_counters, settings.online_snapshot_s)
        self.handover = Handover(views, self._users, self._item_counters, settings.judged_per_s)
        """What its follower takes, if there is one."""
        impression = settings.kinds.get("impression")
        self._impression = impression.code if impression else NO_KIND
        self._backlog: Backlog | None = None
        self._learned_to = self.watermark
        self._commits: deque[tuple[Commit, Sequence[str]]] = deque()
        """Learned but not known to be committed, with the users to read anew afterwards."""
        self._event_s = _FIRST_GUESS_S

    def step(self, block_ms: int = BLOCK_MS) -> int:
        """Learn one batch, or wait ``block_ms`` for one; returns how many events it had.

        Its commit is under way when more is to be learned, else it is done. StoreUnavailable leaves
        everything such that the next step goes on where this one stopped.
        """
        self._finish(but=1)
        backlog = self._backlog or self._read(0 if self._commits else block_ms)
        n = 0
        if backlog is not None:
            n = self._learn_batch(backlog)
            self._finish(but=1)
            for commit, _ in self._commits:
                self._writer.begin(commit)
            self.handover.is_busy = bool(self._backlog or self._read(0))
            if self.handover.is_busy:
                # the store is busy with this batch while we learn the next
                return n
        self.settle()
        self._topics.publish(idle=n == 0)
        self.handover.refresh(self._learned_to)
        return n

    def settle(self) -> None:
        """Return when everything that was learned is committed."""
        self._finish(but=0)

    def check_epoch(self) -> None:
        """Raise Superseded if another one took over; a commit would find out, too, but nobody waits for that."""
        self._writer.check_epoch()

    def drain(self) -> int:
        """Learn everything that is in the log; returns the number of events."""
        total = 0
        while n := self.step(block_ms=0):
            total += n
        return total

    def close(self) -> None:
        """Let go of the connection."""
        self._writer.close()

    # --- one batch --------------------------------------------------------------------------------

    def _read(self, block_ms: int) -> Backlog | None:
        entries = self._reader.read_after(self._learned_to, block_ms=block_ms, max_bytes=READ_BYTES)
        if not entries:
            return None
        self._topics.publish(idle=False)
        self.handover.refresh(self._learned_to)
        try:
            self._backlog = Backlog(entries, self._learned_to, self._window)
        except Misconfigured:
            # who slept while another learned finds holes, because the other has trimmed the log
            self._writer.check_epoch()
            raise
        return self._backlog

    def _learn_batch(self, backlog: Backlog) -> int:
        began, first = time.perf_counter(), backlog.at
        if backlog.kind[first] >= DELETE_RATING and not backlog.repeated[first]:
            end = first + 1
            commit, forgotten = self._carry_out(backlog)
        else:
            batch = self._batch(backlog)
            end = batch.end
            commit, forgotten = self._learn(backlog, batch)
        commit.chunks = backlog.chunks(end)
        commit.obsolete_chunks = self._window.store(commit.chunks)
        commit.log_bytes = backlog.done_bytes(end)
        commit.arrays = changed_arrays(self.model, self._saved)
        commit.counters = {**self._counters, "newest_ms": backlog.newest_ms(end)}
        backlog.at, self._learned_to = end, commit.watermark
        if backlog.is_done:
            self._backlog = None
        self._commits.append((commit, forgotten))
        self._measure(end - first, time.perf_counter() - began)
        return end - first

    def _finish(self, *, but: int) -> None:
        """Commit what was learned, oldest first, all ``but`` the newest few.

        Users that a commit rewrites are read anew, so it is never left for later.
        """
        while len(self._commits) > but or (self._commits and self._commits[0][1]):
            commit, forgotten = self._commits[0]
            self._writer.commit(commit)
            self._commits.popleft()
            self._users.forget(forgotten)
            self.watermark = commit.watermark
            self._topics.note(commit.watermark)
            self.handover.commit(commit.watermark, commit.deleted_items)

    def _measure(self, n: int, seconds: float) -> None:
        """Follow what an event takes, so that a commit is not late. It decides only where batches end."""
        if n >= 100:
            self._event_s += 0.2 * (seconds / n - self._event_s)

    # --- learning ---------------------------------------------------------------------------------

    def _batch(self, backlog: Backlog) -> Batch:
        first = backlog.at
        end = backlog.batch_end(
            row_bytes=self._row_bytes,
            max_bytes=self._settings.commit_max_bytes,
            max_users=self._users.capacity,
            max_events=int(self._settings.commit_max_ms / 1000 / self._event_s),
        )
        numbers = backlog.distinct_users(end)
        users = [backlog.users[number] for number in numbers.tolist()]
        slots = self._users.take(users)
        place = np.zeros(len(backlog.users), dtype=np.int64)
        place[numbers] = np.arange(len(numbers))
        user = place[backlog.user_ix[first:end]]
        new, kind = backlog.repeated[first:end] == 0, backlog.kind[first:end]
        history = np.flatnonzero(new & (kind != self._impression))
        n, full = self._before_overflow(user, slots, history)
        if full is not None:
            self.settle()
        new, kind = new[:n], kind[:n]
        return Batch(
            end=first + len(kind),
            users=users,
            slots=slots,
            user=user[:n],
            rating=np.flatnonzero(new & (kind == RATING)),
            history=history[: np.searchsorted(history, len(kind))],
            impression=np.flatnonzero(new & (kind == self._impression)),
            # read now: once the model has learned, nothing may fail
            full=None if full is None else self._rows.history(users[full]),
        )

    def _before_overflow(self, user: I64, slots: I64, history: I64) -> tuple[int, int | None]:
        """Return how many events fit until the last of them makes a history exceed its bound, and whose.

        Compaction must come right after that event wherever batches end, or their size would change the state.
        """
        n, full = len(user), None
        room = self._settings.history_limit - self._users.records[slots]
        added = np.bincount(user[history], minlength=len(slots))
        for place in np.flatnonzero(added > room).tolist():
            own = history[user[history] == place]
            last = int(own[max(int(room[place]), 0)])
            if last < n:
                n, full = last + 1, place
        return n, full

    def _learn(self, backlog: Backlog, batch: Batch) -> tuple[Commit, Sequence[str]]:
        first, end = backlog.at, batch.end
        commit = Commit(follows=self._learned_to, watermark=int(backlog.sequence[end - 1]))
        self.handover.before(backlog, batch, commit.follows)
        learned = self._learn_ratings(backlog, batch, commit)
        commit.answers = answers(backlog, batch, learned)
        commit.impressions = list(impressions(backlog, batch))
        commit.responses = self._responses.count(backlog, batch.end)
        commit.touched_users = batch.users if len(batch.users) <= CHANGES_LISTED else None
        forgotten = self._add_histories(backlog, batch, commit)
        repeated = int(np.count_nonzero(backlog.repeated[first:end]))
        self._counters["duplicates"] += repeated
        self._counters["learned"] += batch.rating.size
        self._counters["others"] += end - first - repeated - batch.rating.size
        if commit.watermark // EXPERT_HISTORY_EVERY > commit.follows // EXPERT_HISTORY_EVERY:
            commit.expert_history = self._expert_history()
        return commit, forgotten

    def _learn_ratings(self, backlog: Backlog, batch: Batch, commit: Commit) -> Learned | None:
        if not batch.rating.size:
            return None
        at = batch.rating + backlog.at
        ratings = Ratings(
            slot=batch.slots[batch.user[batch.rating]],
            item=backlog.item[at],
            value=backlog.value[at],
            sequence=backlog.sequence[at],
        )
        touched = learn_ratings(self.model, self._users, self._items, ratings)
        commit.user_heads = [self._users.heads[slot] for slot in touched.slots.tolist()]
        commit.user_rows = self._users.table.rows[touched.slots]
        commit.item_heads = [self._items.heads[number] for number in touched.items.tolist()]
        commit.item_rows = self._items.table.rows[touched.items]
        commit.new_items = touched.items[~self._items.stored[touched.items]].tolist()
        self._items.stored[touched.items] = True
        listed = touched.items.size <= CHANGES_LISTED
        commit.touched_items = touched.items.astype("<u4").tobytes() if listed else None
        return touched.learned

    def _add_histories(self, backlog: Backlog, batch: Batch, commit: Commit) -> Sequence[str]:
        """Put the new records into the commit; returns the users whose history is compacted."""
        if not batch.history.size:
            return []
        runs = history_runs(backlog, batch, batch.history)
        own = batch.history + backlog.at
        commit.counts = self._item_counters.learn(
            backlog.item[own], backlog.kind[own], backlog.value[own], backlog.time_ms[own]
        )
        pieces = runs.pieces()
        slots = batch.slots[runs.user]
        before = self._users.records[slots]
        self._users.records[slots] = before + runs.ends - runs.starts
        names = [self._users.names[slot] for slot in slots.tolist()]
        commit.new_users = [names[i] for i in np.flatnonzero(before == 0).tolist()]
        kept = list(range(len(pieces)))
        if batch.full is not None:
            at = int(np.flatnonzero(self._users.records[slots] > self._settings.history_limit)[0])
            kept.remove(at)
            commit.rewritten = [self._compacted(names[at], batch.full, bytes(pieces[at]))]
        commit.history_keys = [self._users.history_keys[int(slots[i])] for i in kept]
        commit.history_records = [pieces[i] for i in kept]
        return [rewritten.user for rewritten in commit.rewritten]

    def _compacted(self, user: str, stored: tuple[bytes, bytes], new: bytes) -> Rewritten:
        history = read_history(stored[0] + new)
        kept, gone = compact(history, self._settings.kinds, self._settings.history_limit)
        self._counters["trimmed_records"] += len(history) - len(kept)
        seen = np.union1d(np.frombuffer(stored[1], dtype="<u4"), gone)
        return Rewritten(user, kept.tobytes(), seen.astype("<u4").tobytes())

    def _expert_history(self) -> bytes:
        experts = [
            {"name": e.name, "weight": e.weight, "part": e.part, "recent_loss": e.recent_loss}
            for e in self.model.experts()
        ]
        return json.dumps({"learned": self._counters["learned"], "experts": experts}).encode()

    def _carry_out(self, backlog: Backlog) -> tuple[Commit, Sequence[str]]:
        """Carry out the deletion or merge at the head of the backlog."""
        self.settle()
        at = backlog.at
        sequence, kind = int(backlog.sequence[at]), int(backlog.kind[at])
        user, item = backlog.users[int(backlog.user_ix[at])], int(backlog.item[at])
        commit = Commit(follows=self._learned_to, watermark=sequence)
        counter = "deletions"
        if kind == MERGE_USER:
            forgotten, counter = self._merges.merge(user, backlog.users[item], commit), "others"
        elif kind == MOVE_USER:
            through = int(backlog.time_ms[at])
            forgotten, counter = self._merges.move(user, through, commit), "others"
        else:
            forgotten = self._deletions.carry_out(kind, user, item, commit)
        if backlog.flags[at] & AWAITED:
            told = np.array([(sequence, 0, 0, 0, NOT_A_RATING)], dtype=AWAITED_ANSWER)
            commit.answers = told.tobytes()
        self._counters[counter] += 1
        return commit, forgotten
