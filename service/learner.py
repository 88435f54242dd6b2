"""The learner of one partition: log entries in, one commit a batch out, strictly in order, exactly once.

It owns what the commit writes. Nothing here depends on where a batch begins or ends.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numba
import numpy as np
import redis
from llvmlite import binding

from core.online.model import Learned, OnlineModel
from core.online.tables import Side
from core.rng import id_hashes
from core.types import I64
from service.backlog import Backlog
from service.dedupe import DedupeWindow
from service.deletions import Deletions
from service.errors import StoreUnavailable, Superseded
from service.online import online_model
from service.rows import ItemRows, UserRows, restore
from service.settings import Settings
from service.store.codec import (
    AWAITED,
    AWAITED_ANSWER,
    DELETE_RATING,
    DUPLICATE,
    LEARNED,
    NOT_A_RATING,
    RATING,
    read_history,
    records,
)
from service.store.connection import connect
from service.store.histories import Numbers, compact
from service.store.keys import PartitionKeys
from service.store.lease import Lease
from service.store.log import LogReader
from service.store.namespace import Namespace, open_namespace
from service.store.profile_writer import CHANGES_LISTED, Commit, ProfileWriter, Rewritten
from service.telemetry import logger
from service.topics import Topics

T = TypeVar("T")

BLOCK_MS = 500
"""How long a read waits for the next event; also how fast a learner notices that it should stop."""
PAUSE_S = 0.25
"""Between two tries while the store does not answer, or another one learns."""
EXPERT_HISTORY_EVERY = 1_000
"""Events between two points of the experts' history."""
IMPRESSIONS_A_RECORD = 64
NO_KIND = -1
_FIRST_GUESS_S = 5e-6
"""What an event may take to learn, before it is measured."""


@dataclass(frozen=True)
class Batch:
    """Events ``first .. end`` of the backlog, what they are and whose they are."""

    end: int
    users: list[str]
    slots: I64
    """(k,) of the distinct users."""
    user: I64
    """(n,) place of each event's user in ``slots``."""
    rating: I64
    """Positions of the ratings to learn."""
    history: I64
    """Positions of the events that enter a history."""

    def slot(self, positions: I64) -> I64:
        """Return the slots of some events' users."""
        return self.slots[self.user[positions]]


class Learner:
    """Learns one partition while its epoch lasts; raises Superseded when another one took over."""

    def __init__(
        self, settings: Settings, client: redis.Redis, namespace: Namespace, partition: int
    ) -> None:
        self._settings, self._client = settings, client
        self.model: OnlineModel = online_model(settings, namespace)
        keys = PartitionKeys(namespace.name, partition)
        self._row_bytes = 4 * self.model.width
        self._writer = ProfileWriter(client, keys, self._row_bytes)
        self._reader = LogReader(client, keys)
        self.state = self._writer.take_over(self.model.fingerprint, machine())
        self._watermark = self.state.watermark
        self._counters = {
            name: getattr(self.state, name)
            for name in ("learned", "duplicates", "others", "deletions", "trimmed_records")
        }
        self._deleted = self._writer.deleted_items()
        self._rows = rows = self._writer.rows()
        self._saved = rows.arrays()
        restore(self.model, self._saved)
        self._items = ItemRows(self.model, rows, client, namespace.name)
        self._items.load()
        self._users = UserRows(self.model, rows, settings.users_in_memory, self._deleted)
        self._window = DedupeWindow(
            settings.dedupe_window, int(settings.dedupe_max_age_h * 3_600_000)
        )
        self._window.load(self._writer.chunks())
        self._deletions = Deletions(self._writer, rows, self._items, self._users, self._deleted)
        self._topics = Topics(self.model, self._items, client, keys.topics)
        impression = settings.kinds.get("impression")
        self._impression = impression.code if impression else NO_KIND
        self._backlog: Backlog | None = None
        self._unfinished: tuple[Commit, Sequence[str]] | None = None
        self._event_s = _FIRST_GUESS_S

    @property
    def watermark(self) -> int:
        """Sequence of the last event that is learned and committed."""
        return self._watermark

    def step(self, block_ms: int = BLOCK_MS) -> int:
        """Learn and commit one batch, or wait ``block_ms`` for one; returns how many events it had.

        StoreUnavailable leaves everything such that the next step goes on where this one stopped.
        """
        if self._unfinished is not None:
            return self._finish()
        if self._backlog is None and not self._read(block_ms):
            self._topics.publish(idle=True)
            return 0
        return self._learn_batch()

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

    def _read(self, block_ms: int) -> bool:
        entries = self._reader.read_after(
            self._watermark, block_ms=block_ms, max_bytes=self._settings.commit_max_bytes
        )
        if entries:
            self._topics.publish(idle=False)
            self._backlog = Backlog(entries, self._watermark, self._window)
        return bool(entries)

    def _learn_batch(self) -> int:
        began = time.perf_counter()
        backlog = self._backlog
        assert backlog is not None  # noqa: S101 - step has seen to it
        end = backlog.batch_end(
            row_bytes=self._row_bytes,
            max_bytes=self._settings.commit_max_bytes,
            max_users=self._users.capacity,
            max_events=int(self._settings.commit_max_ms / 1000 / self._event_s),
        )
        if backlog.kind[backlog.at] >= DELETE_RATING and not backlog.repeated[backlog.at]:
            commit, forgotten = self._delete(backlog)
        else:
            batch = self._batch(backlog, end)
            commit, forgotten = self._learn(backlog, batch)
            end = batch.end
        commit.chunks = backlog.chunks(end)
        commit.obsolete_chunks = self._window.store(commit.chunks)
        commit.log_bytes = backlog.done_bytes(end)
        commit.counters = {**self._counters, "newest_ms": backlog.newest_ms(end)}
        n = end - backlog.at
        backlog.at = end
        self._event_s += 0.2 * ((time.perf_counter() - began) / n - self._event_s) if n > 100 else 0
        self._unfinished = (commit, forgotten)
        self._finish()
        return n

    def _finish(self) -> int:
        """Send the commit, again if need be; afterwards memory and store agree."""
        assert self._unfinished is not None  # noqa: S101 - the callers have seen to it
        commit, forgotten = self._unfinished
        self._writer.commit(commit)
        self._unfinished = None
        self._users.forget(forgotten)
        self._watermark = commit.watermark
        if self._backlog is not None and self._backlog.is_done:
            self._backlog = None
        self._topics.note(commit.watermark)
        return commit.watermark - commit.follows

    def _batch(self, backlog: Backlog, end: int) -> Batch:
        first = backlog.at
        distinct = backlog.distinct_users(end)
        users = [backlog.users[number] for number in distinct.tolist()]
        slots = self._users.take(users)
        place = np.zeros(len(backlog.users), dtype=np.int64)
        place[distinct] = np.arange(len(distinct))
        user = place[backlog.user_ix[first:end]]
        new = backlog.repeated[first:end] == 0
        kind = backlog.kind[first:end]
        in_history = np.flatnonzero(new & (kind != self._impression))
        n = self._before_overflow(user, slots, in_history, end - first)
        rating = np.flatnonzero(new[:n] & (kind[:n] == RATING))
        return Batch(first + n, users, slots, user[:n], rating, in_history[in_history < n])

    def _before_overflow(self, user: I64, slots: I64, in_history: I64, n: int) -> int:
        """Return how many events fit until a history exceeds its bound; that event is the last.

        Compaction must come right after it wherever batches end, or their size would change the state.
        """
        room = self._settings.history_limit - self._users.records[slots]
        added = np.bincount(user[in_history], minlength=len(slots))
        for place in np.flatnonzero(added > room).tolist():
            own = in_history[user[in_history] == place]
            n = min(n, int(own[max(int(room[place]), 0)]) + 1)
        return n

    def _learn(self, backlog: Backlog, batch: Batch) -> tuple[Commit, Sequence[str]]:
        first, end = backlog.at, batch.end
        commit = Commit(follows=self._watermark, watermark=int(backlog.sequence[end - 1]))
        learned = self._learn_ratings(backlog, batch, commit)
        commit.answers = _answers(backlog, batch, learned)
        forgotten = self._add_histories(backlog, batch, commit)
        repeated = int(backlog.repeated[first:end].sum())
        self._counters["duplicates"] += repeated
        self._counters["learned"] += batch.rating.size
        self._counters["others"] += end - first - repeated - batch.rating.size
        self._add_impressions(backlog, batch, commit)
        self._add_state(commit)
        return commit, forgotten

    def _learn_ratings(self, backlog: Backlog, batch: Batch, commit: Commit) -> Learned | None:
        """Run the model and put the touched rows into the commit."""
        if not batch.rating.size:
            return None
        at = batch.rating + backlog.at
        item = backlog.item[at]
        touched_items = _distinct(item)
        self._items.take(touched_items)
        learned = self.model.learn(
            self._users.table,
            self._items.table,
            batch.slot(batch.rating),
            item,
            backlog.value[at].astype(np.float64),
            backlog.sequence[at],
        )
        has_rating = np.zeros(len(batch.slots), dtype=bool)
        has_rating[batch.user[batch.rating]] = True
        slots = batch.slots[has_rating]
        commit.user_heads = [self._users.heads[slot] for slot in slots.tolist()]
        commit.user_rows = self._users.table.rows[slots]
        commit.item_heads = [self._items.heads[number] for number in touched_items.tolist()]
        commit.item_rows = self._items.table.rows[touched_items]
        commit.new_items = touched_items[~self._items.stored[touched_items]].tolist()
        self._items.stored[touched_items] = True
        listed = max(len(batch.users), touched_items.size) <= CHANGES_LISTED
        commit.touched_items = touched_items.astype("<u4").tobytes() if listed else None
        return learned

    def _add_histories(self, backlog: Backlog, batch: Batch, commit: Commit) -> list[str]:
        """Put the new records into the commit; returns the users whose history is compacted."""
        if len(batch.users) <= CHANGES_LISTED:
            commit.touched_users = batch.users
        else:
            commit.touched_users = None
        if not batch.history.size:
            return []
        order, user = _grouped(batch.user[batch.history])
        at = batch.history[order] + backlog.at
        packed = records(
            backlog.item[at],
            backlog.value[at],
            backlog.time_ms[at],
            backlog.sequence[at],
            backlog.kind[at],
        )
        starts = np.flatnonzero(np.diff(user, prepend=-1))
        slots = batch.slots[user[starts]]
        ends = np.append(starts[1:], len(user))
        known = self._users.records[slots]
        self._users.records[slots] = known + ends - starts
        commit.new_users = [self._users.names[slot] for slot in slots[known == 0].tolist()]
        flat, size = packed.view(np.uint8).data, packed.itemsize
        pieces = [
            flat[a:b] for a, b in zip((starts * size).tolist(), (ends * size).tolist(), strict=True)
        ]
        names = slots.tolist()
        full = self._users.records[slots] > self._settings.history_limit
        commit.rewritten = [
            self._compacted(self._users.names[names[i]], bytes(pieces[i]))
            for i in np.flatnonzero(full).tolist()
        ]
        kept = np.flatnonzero(~full).tolist()
        commit.history_keys = [self._users.history_keys[names[i]] for i in kept]
        commit.history_records = [pieces[i] for i in kept]
        return [rewritten.user for rewritten in commit.rewritten]

    def _compacted(self, user: str, new: bytes) -> Rewritten:
        stored, trimmed = self._rows.history(user)
        history = read_history(stored + new)
        kept, gone = compact(history, self._settings.kinds, self._settings.history_limit)
        self._counters["trimmed_records"] += len(history) - len(kept)
        seen: Numbers = np.union1d(np.frombuffer(trimmed, dtype="<u4"), gone)
        return Rewritten(user, kept.tobytes(), seen.astype("<u4").tobytes())

    def _add_impressions(self, backlog: Backlog, batch: Batch, commit: Commit) -> None:
        first = backlog.at
        shown = (backlog.kind[first : batch.end] == self._impression) & (
            backlog.repeated[first : batch.end] == 0
        )
        positions = np.flatnonzero(shown)
        if not positions.size:
            return
        order, user = _grouped(batch.user[positions])
        at = positions[order] + first
        packed = records(
            backlog.item[at],
            backlog.value[at],
            backlog.time_ms[at],
            backlog.sequence[at],
            backlog.kind[at],
        )
        commit.impressions = [
            (batch.users[int(user[a])], packed[a : min(a + IMPRESSIONS_A_RECORD, b)].tobytes())
            for start, b in _runs(user)
            for a in range(start, b, IMPRESSIONS_A_RECORD)
        ]

    def _add_state(self, commit: Commit) -> None:
        """Put in the arrays of the model that changed, and now and then a point of the experts' history."""
        changed = {}
        for name, array in self.model.arrays().items():
            data = array.tobytes()
            if self._saved.get(name) != data:
                changed[name] = self._saved[name] = data
        commit.arrays = changed
        every = EXPERT_HISTORY_EVERY
        if commit.watermark // every > commit.follows // every:
            commit.expert_history = json.dumps(
                {
                    "experts": [
                        {
                            "name": e.name,
                            "weight": e.weight,
                            "part": e.part,
                            "recent_loss": e.recent_loss,
                        }
                        for e in self.model.experts()
                    ],
                    "learned": self._counters["learned"],
                },
                separators=(",", ":"),
            ).encode()

    def _delete(self, backlog: Backlog) -> tuple[Commit, Sequence[str]]:
        """Carry out the deletion at the head of the backlog."""
        at = backlog.at
        sequence = int(backlog.sequence[at])
        user, item = backlog.users[int(backlog.user_ix[at])], int(backlog.item[at])
        commit = Commit(follows=self._watermark, watermark=sequence)
        forgotten = self._deletions.carry_out(int(backlog.kind[at]), user, item, commit)
        if backlog.flags[at] & AWAITED:
            commit.answers = np.array(
                [(sequence, 0, 0, 0, NOT_A_RATING)], dtype=AWAITED_ANSWER
            ).tobytes()
        self._counters["deletions"] += 1
        return commit, forgotten


def run(settings: Settings, redis_url: str, partition: int, stop: threading.Event) -> None:
    """Learn a partition until ``stop``: wait for its lease, take over, and keep on.

    Raises Superseded when another learner took over: start again as a standby.
    """
    log = logger().bind(partition=partition)
    with connect(redis_url, role=f"learner-{partition}") as client:
        namespace = _patiently(stop, lambda: open_namespace(client, settings))
        if namespace is None:
            return
        warm_up(online_model(settings, namespace))
        lease = Lease(client, PartitionKeys(namespace.name, partition).lease, settings.lease_ms)
        while not _patiently(stop, lease.acquire):
            if stop.wait(PAUSE_S):
                return
        learner = _patiently(stop, lambda: Learner(settings, client, namespace, partition))
        if learner is None:
            return
        log.info("learner_started", epoch=learner.state.epoch, watermark=learner.watermark)
        try:
            _learn_on(learner, lease, stop)
            lease.release()
        finally:
            learner.close()
        log.info("learner_stopped", watermark=learner.watermark)


def _learn_on(learner: Learner, lease: Lease, stop: threading.Event) -> None:
    """Step until ``stop``; while the store does not answer, ask again and again."""
    while not stop.is_set():
        try:
            if not lease.keep():
                raise Superseded("another learner holds the lease of this partition")
            learner.step()
        except StoreUnavailable as error:
            logger().warning("store_unavailable", detail=error.detail)
            stop.wait(PAUSE_S)


def _patiently(stop: threading.Event, attempt: Callable[[], T]) -> T | None:
    """Return what ``attempt`` returns as soon as the store answers; None when told to stop."""
    while not stop.is_set():
        try:
            return attempt()
        except StoreUnavailable as error:
            logger().warning("store_unavailable", detail=error.detail)
            stop.wait(PAUSE_S)
    return None


def warm_up(model: OnlineModel) -> None:
    """Learn one rating, so that the kernels are compiled before a lease runs or events wait."""
    zero = np.zeros(1, dtype=np.int64)
    users, items = model.user_table(1), model.item_table(1)
    users.rows[:] = model.start(Side.USER, id_hashes(["a"]))
    items.rows[:] = model.start(Side.ITEM, id_hashes(["a"]))
    model.learn(users, items, zero, zero, np.full(1, model.config.scale.low), zero)


def machine() -> str:
    """Return what decides the bits besides the settings: the processor and the numeric libraries."""
    return f"{binding.get_host_cpu_name()} numpy-{np.__version__} numba-{numba.__version__}"


def _answers(backlog: Backlog, batch: Batch, learned: Learned | None) -> bytes:
    """Return what the change feed tells those who wait for events of the batch."""
    first = backlog.at
    awaited = np.flatnonzero(backlog.flags[first : batch.end] & AWAITED)
    if not awaited.size:
        return b""
    answers = np.zeros(awaited.size, dtype=AWAITED_ANSWER)
    answers["sequence"] = backlog.sequence[first + awaited]
    repeated = backlog.repeated[first + awaited] != 0
    answers["status"] = np.where(repeated, DUPLICATE, NOT_A_RATING)
    if learned is not None:
        place = np.minimum(np.searchsorted(batch.rating, awaited), batch.rating.size - 1)
        own = batch.rating[place] == awaited
        answers["status"][own] = LEARNED
        for name in ("rating", "low", "high"):
            answers[name][own] = getattr(learned, name)[place[own]]
    return answers.tobytes()


def _distinct(numbers: I64) -> I64:
    """Return the distinct item numbers in order: by sorting a few, by counting many."""
    return np.unique(numbers) if numbers.size < 1_000 else np.flatnonzero(np.bincount(numbers))


def _grouped(user: I64) -> tuple[I64, I64]:
    """Return the order that brings equal users together and keeps theirs, and the users in it."""
    # numpy sorts 16-bit numbers by radix
    short = user.astype(np.uint16) if user.max() < 1 << 16 else user
    order = np.argsort(short, kind="stable")
    return order, user[order]


def _runs(user: I64) -> Iterator[tuple[int, int]]:
    """Yield where each run of equal users begins and ends."""
    starts = np.flatnonzero(np.diff(user, prepend=-1))
    yield from zip(starts.tolist(), [*starts[1:].tolist(), len(user)], strict=True)
