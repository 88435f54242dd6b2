"""What a learner writes: everything of a partition that comes from its log, in one transaction a batch.

A commit names the epoch and the watermark it follows; Redis applies it only while ``state`` holds these two.
Readers are in ``profiles``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, cast

import numpy as np
import redis
from redis import exceptions as redis_errors

from core.types import F32, F64
from service.errors import StoreUnavailable, Superseded
from service.store.connection import store_errors
from service.store.keys import PartitionKeys
from service.store.log.state import PartitionState, check_rows, read_deleted_items, read_state
from service.store.profiles.counters import Pieces, read_counts
from service.store.profiles.rows import SLICE, RowStore
from service.store.profiles.transaction import PackedTransaction, Transaction, argument, packed

CHANGES_KEPT = 4_096
"""Commits that the change feed keeps, about."""
CHANGES_LISTED = 1_000
"""A commit that touches more users or items than this says "all" in the feed."""
EXPERT_HISTORY_KEPT = 10_000
IMPRESSIONS_KEPT = 10_000

_APPEND, _IMPRESS = (
    resources.files(__package__).joinpath(name).read_text()
    for name in ("append_histories.lua", "add_impressions.lua")
)


@dataclass(frozen=True)
class Rewritten:
    """A user's history written anew, after a deletion or a compaction."""

    user: str
    history: bytes
    trimmed: bytes


@dataclass
class Commit:
    """Everything that one batch changes; heads and history keys are made by ``RowStore``."""

    follows: int
    watermark: int
    user_heads: Sequence[bytes] = ()
    user_rows: F32 = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))
    item_heads: Sequence[bytes] = ()
    item_rows: F32 = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))
    new_items: Sequence[int] = ()
    """Items whose row is written for the first time."""
    new_users: Sequence[str] = ()
    counts: Pieces = ()
    """What is written of the items' counters."""
    history_keys: Sequence[bytes] = ()
    history_records: Sequence[memoryview] = ()
    """What is appended to the history of the same position."""
    rewritten: Sequence[Rewritten] = ()
    removed_users: Sequence[str] = ()
    last_generation: int = 0
    """Of the rows that go with a removed user: a rebuild may have made some already."""
    deleted_items: Mapping[int, int] = field(default_factory=dict)
    impressions: Sequence[tuple[str, bytes]] = ()
    removed_impressions: Sequence[bytes] = ()
    responses: Mapping[str, bytes | None] = field(default_factory=dict)
    """Counts by source; None for a source that is forgotten."""
    arrays: Mapping[str, bytes] = field(default_factory=dict)
    chunks: Sequence[bytes] = ()
    obsolete_chunks: int = 0
    counters: Mapping[str, int] = field(default_factory=dict)
    log_bytes: int = 0
    """Bytes of the entries that are done."""
    touched_users: Sequence[str] | None = ()
    touched_items: bytes | None = b""
    """u32 numbers; None for either means: more than the feed lists."""
    answers: bytes = b""
    expert_history: bytes | None = None


class ProfileWriter:
    """The one writer of a partition's profiles. Sends nothing twice without asking what became of it."""

    def __init__(self, client: redis.Redis, keys: PartitionKeys, row_bytes: int) -> None:
        self._client, self._keys, self._row_bytes = client, keys, row_bytes
        self._connection: Any = None
        self._standing: int | None = None
        """The watermark that ``state`` held when the watch on it began; None: no watch."""
        self._is_sent = False
        self._packed: tuple[Commit, PackedTransaction] | None = None
        self.state = PartitionState()

    # --- becoming and staying the writer ----------------------------------------------------------

    def take_over(self, fingerprint: bytes, machine: str) -> PartitionState:
        """Raise the epoch, so that every earlier writer is refused; Misconfigured for other rows."""
        pipe: Any
        with store_errors(), self._client.pipeline() as pipe:
            while True:
                try:
                    pipe.watch(self._keys.state)
                    state = PartitionState.of(
                        cast("dict[bytes, bytes]", pipe.hgetall(self._keys.state))
                    )
                    check_rows(state, fingerprint, has_users=bool(pipe.exists(self._keys.users)))
                    pipe.multi()
                    fields: dict[Any, Any] = {"epoch": state.epoch + 1, "machine": machine}
                    if not state.epoch:
                        fields |= {
                            "watermark": 0,
                            "generation": 0,
                            "fingerprint": fingerprint.hex(),
                        }
                    pipe.hset(self._keys.state, mapping=fields)
                    pipe.hgetall(self._keys.state)
                    answer = pipe.execute()[-1]
                except redis_errors.WatchError:
                    continue
                self.state = PartitionState.of(answer)
                return self.state

    def check_epoch(self) -> None:
        """Raise Superseded if another writer has taken over."""
        epoch = read_state(self._client, self._keys).epoch
        if epoch != self.state.epoch:
            raise Superseded(f"epoch {self.state.epoch} is over, {epoch} has begun")

    def close(self) -> None:
        """Drop the connection."""
        self._drop()

    # --- reading what is needed to go on ----------------------------------------------------------

    def rows(self) -> RowStore:
        """Return the rows of the generation that this writer continues."""
        return RowStore(self._client, self._keys, self.state.generation, self._row_bytes)

    def last_generation(self) -> int:
        """Return the highest generation that a rebuild has begun."""
        with store_errors():
            answer = cast("bytes | None", self._client.hget(self._keys.state, "reserved"))
        return int(answer or 0)

    def counts(self) -> F64:
        """Return the counters of all items."""
        return read_counts(self._client, self._keys.counts(self.state.generation))

    def deleted_items(self) -> dict[int, int]:
        """Return item number -> sequence of its deletion."""
        return read_deleted_items(self._client, self._keys)

    def chunks(self) -> Iterator[bytes]:
        """Yield the stored chunks of the dedupe window, oldest first."""
        first = 0
        while True:
            with store_errors():
                answer = self._client.lrange(self._keys.dedupe, first, first + SLICE - 1)
            yield from cast("list[bytes]", answer)
            if len(cast("list[bytes]", answer)) < SLICE:
                return
            first += SLICE

    def responses(self) -> dict[bytes, bytes]:
        """Return the counts of each source, see service/learning/responses.py."""
        with store_errors():
            return cast("dict[bytes, bytes]", self._client.hgetall(self._keys.responses))

    def impressions_of(self, user: str) -> list[bytes]:
        """Return the ids of the user's entries in the side stream."""
        found: list[bytes] = []
        first = "-"
        while True:
            with store_errors():
                answer = self._client.xrange(self._keys.impressions, first, "+", count=SLICE)
            entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", answer)
            found += [name for name, fields in entries if fields[b"u"] == user.encode()]
            if len(entries) < SLICE:
                return found
            first = f"({entries[-1][0].decode()}"

    # --- the commit -------------------------------------------------------------------------------

    def commit(self, commit: Commit) -> None:
        """Apply it, once, if nobody else wrote meanwhile; Superseded if somebody did.

        StoreUnavailable: it may or may not have been applied; call again with the same commit.
        """
        transaction = self._transaction(commit)
        with store_errors():
            try:
                if self._is_sent:
                    self._receive(transaction)
                while self._stands_at() != commit.watermark:
                    if self._standing != commit.follows:
                        raise Superseded(f"the watermark is {self._standing}, not {commit.follows}")
                    self._send(transaction)
                    self._receive(transaction)
            except BaseException:
                self._drop()
                raise
        self._packed = None

    def begin(self, commit: Commit) -> None:
        """Send it ahead, if nothing is in doubt; ``commit`` with the same one must follow."""
        transaction = self._transaction(commit)
        if self._standing == commit.follows:
            try:
                with store_errors():
                    self._send(transaction)
            except StoreUnavailable:
                self._drop()

    def _transaction(self, commit: Commit) -> PackedTransaction:
        if self._packed is None or self._packed[0] is not commit:
            self._packed = (commit, self._pack(commit))
        return self._packed[1]

    def _stands_at(self) -> int:
        """Return the stored watermark; from here on a change of ``state`` stops the transaction."""
        if self._standing is None:
            if self._connection is None:
                self._connection = self._client.connection_pool.get_connection()
            for command in self._watch():
                self._connection.send_packed_command([command])
            self._read_standing()
        return cast("int", self._standing)

    def _watch(self) -> tuple[bytes, bytes]:
        state = self._keys.state
        return packed("WATCH", state), packed("HMGET", state, "epoch", "watermark")

    def _read_standing(self) -> None:
        self._connection.read_response()
        epoch, watermark = self._connection.read_response()
        if epoch is None or int(epoch) != self.state.epoch:
            raise Superseded(
                f"epoch {self.state.epoch} is over, {(epoch or b'none').decode()} has begun"
            )
        self._standing = int(watermark)

    def _send(self, transaction: PackedTransaction) -> None:
        self._standing = None
        transaction.send(self._connection)
        self._is_sent = True

    def _receive(self, transaction: PackedTransaction) -> None:
        """Read what became of it; the watch for the next commit travelled with it and saves a round trip."""
        self._is_sent = False
        transaction.receive(self._connection)
        self._read_standing()

    def _drop(self) -> None:
        self._standing, self._is_sent = None, False
        if self._connection is not None:
            self._connection.disconnect()
            self._client.connection_pool.release(self._connection)
            self._connection = None

    def _pack(self, commit: Commit) -> PackedTransaction:
        transaction = Transaction()
        self._add_rows(transaction, commit)
        self._add_histories(transaction, commit)
        self._add_removals(transaction, commit)
        self._add_feeds(transaction, commit)
        keys = self._keys
        if commit.chunks:
            transaction.add("RPUSH", keys.dedupe, *commit.chunks)
        if commit.obsolete_chunks:
            transaction.add("LPOP", keys.dedupe, commit.obsolete_chunks)
        if commit.log_bytes:
            transaction.add("XTRIM", keys.log, "MINID", f"{commit.watermark + 1}-0")
            transaction.add("DECRBY", keys.log_bytes, commit.log_bytes)
        counters = [part for pair in commit.counters.items() for part in pair]
        transaction.add("HSET", keys.state, "watermark", commit.watermark, *counters)
        return transaction.finish(*self._watch())

    def _add_rows(self, transaction: Transaction, commit: Commit) -> None:
        keys, generation = self._keys, self.state.generation
        if commit.user_heads:
            transaction.set_rows(commit.user_heads, commit.user_rows)
        if commit.item_heads:
            transaction.set_rows(commit.item_heads, commit.item_rows)
        if commit.new_items:
            bits = [part for number in commit.new_items for part in ("SET", "u1", f"#{number}", 1)]
            transaction.add("BITFIELD", keys.item_rows(generation), *bits)
        if commit.arrays:
            arrays = [part for pair in commit.arrays.items() for part in pair]
            transaction.add("HSET", keys.online(generation), *arrays)
        for offset, data in commit.counts:
            transaction.add("SETRANGE", keys.counts(generation), offset, data)

    def _add_histories(self, transaction: Transaction, commit: Commit) -> None:
        if commit.new_users:
            scores = [part for user in commit.new_users for part in (0, user)]
            transaction.add("ZADD", self._keys.users, *scores)
        if commit.history_keys:
            transaction.evaluate(_APPEND, commit.history_keys, commit.history_records)
        for user in commit.rewritten:
            for key, value in (
                (self._keys.history(user.user), user.history),
                (self._keys.trimmed(user.user), user.trimmed),
            ):
                if value:
                    transaction.add("SET", key, value)
                else:
                    transaction.add("DEL", key)

    def _add_removals(self, transaction: Transaction, commit: Commit) -> None:
        keys = self._keys
        last = max(commit.last_generation, self.state.generation)
        for user in commit.removed_users:
            rows = [keys.user_row(g, user) for g in range(self.state.generation, last + 1)]
            transaction.add("UNLINK", *rows, keys.history(user), keys.trimmed(user))
            transaction.add("ZREM", keys.users, user)
        if commit.deleted_items:
            items = [part for pair in commit.deleted_items.items() for part in pair]
            transaction.add("HSET", keys.deleted_items, *items)
        if commit.removed_impressions:
            transaction.add("XDEL", keys.impressions, *commit.removed_impressions)

    def _add_feeds(self, transaction: Transaction, commit: Commit) -> None:
        keys, name = self._keys, f"{commit.watermark}-0"
        if commit.impressions:
            pieces = [part for pair in commit.impressions for part in pair]
            values = [commit.watermark, IMPRESSIONS_KEPT, *pieces]
            transaction.evaluate(_IMPRESS, [argument(keys.impressions)], values)
        for source, counts in commit.responses.items():
            if counts is None:
                transaction.add("HDEL", keys.responses, source)
            else:
                transaction.add("HSET", keys.responses, source, counts)
        if commit.expert_history is not None:
            kept = ("MAXLEN", "~", EXPERT_HISTORY_KEPT)
            transaction.add("XADD", keys.expert_history, *kept, name, "d", commit.expert_history)
        kept = ("MAXLEN", "~", CHANGES_KEPT)
        transaction.add("XADD", keys.changes, *kept, name, *self._change(commit))

    def _change(self, commit: Commit) -> list[bytes | str | int]:
        fields: list[bytes | str | int] = ["f", commit.follows, "e", self.state.epoch]
        if commit.touched_users is None or commit.touched_items is None:
            fields += ["a", 1]
        else:
            fields += ["u", "\n".join(commit.touched_users), "i", commit.touched_items]
        return [*fields, "p", commit.answers] if commit.answers else fields
