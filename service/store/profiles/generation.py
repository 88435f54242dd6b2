"""A new generation of rows: unread until one transaction makes it the current generation."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
import redis
from redis import exceptions as redis_errors

from core.types import F32, I64
from service.errors import Superseded
from service.store.connection import store_errors
from service.store.keys import PartitionKeys
from service.store.log.change import Change
from service.store.log.codec import decode
from service.store.log.state import PartitionState, read_state
from service.store.log.stream import LogEntry
from service.store.profiles.counters import Pieces
from service.store.profiles.rows import SLICE, RowStore
from service.store.profiles.transaction import Transaction
from service.store.profiles.transitions import TransitionRows

WRITE_BYTES = 1 << 20
"""Bytes written by one command: bounds how long other clients wait."""


class Generation:
    """Writes the rows of a new generation of a partition, swaps it in and removes the others."""

    def __init__(self, client: redis.Redis, keys: PartitionKeys) -> None:
        self._client, self._keys = client, keys
        with store_errors():
            # a number that no rebuild had: rows left by an aborted one are never taken for ours
            self._client.hsetnx(keys.state, "reserved", read_state(client, keys).generation)
            self.number = self._client.hincrby(keys.state, "reserved", 1)

    def write_user_rows(self, users: Sequence[str], rows: F32) -> None:
        """Write the rows (n, width) of n users, in slices."""
        self._write_rows(self._keys.user_row(self.number, ""), [u.encode() for u in users], rows)

    def write_item_rows(self, items: Sequence[int], rows: F32) -> None:
        """Write the rows (n, width) of n items, in slices."""
        prefix = self._keys.item_row(self.number, 0).removesuffix("0")
        self._write_rows(prefix, [b"%d" % item for item in items], rows)

    def _write_rows(self, prefix: str, names: Sequence[bytes], rows: F32) -> None:
        step = max(1, WRITE_BYTES // (4 * rows.shape[1]))
        for first in range(0, len(names), step):
            transaction = Transaction()
            end = first + step
            transaction.set_rows(prefix, names[first:end], rows[first:end])
            self._send(transaction)

    def write_index(self, items: I64, arrays: Mapping[str, bytes], counts: Pieces) -> None:
        """Write the bitmap of items with rows, the shared state of the model, and the counters."""
        for first in range(0, len(items), SLICE):
            numbers = items[first : first + SLICE].tolist()
            bits = [part for number in numbers for part in ("SET", "u1", f"#{number}", 1)]
            self._run("BITFIELD", self._keys.item_rows(self.number), *bits)
        self._run("HSET", self._keys.online(self.number), *_flat(arrays))
        for offset, data in counts:
            for at in range(0, len(data), WRITE_BYTES):
                part = data[at : at + WRITE_BYTES]
                self._run("SETRANGE", self._keys.counts(self.number), offset + at, part)

    def write_transitions(self, rows: TransitionRows) -> None:
        """Write the rows of items that follow others, in slices; there is no journal then."""
        keys = self._keys
        # a lost state has lost which numbers were reserved, too
        self._run("UNLINK", keys.transitions(self.number), keys.transition_journal(self.number))
        fields = rows.fields
        for first in range(0, len(fields), SLICE):
            part = fields[first : first + SLICE]
            self._run("HSET", self._keys.transitions(self.number), *part)

    def add_users(self, users: Sequence[str]) -> None:
        """Add users to the index."""
        if users:
            self._run("ZADD", self._keys.users, *(part for user in users for part in (0, user)))

    def fence(self, watermark: int) -> PartitionState:
        """Raise the epoch, so that no learner can commit, and return the state.

        A lost watermark is set to ``watermark``.
        """
        with store_errors(), self._client.pipeline(transaction=True) as pipe:
            pipe.hincrby(self._keys.state, "epoch", 1)
            pipe.hsetnx(self._keys.state, "watermark", watermark)
            pipe.execute()
        return read_state(self._client, self._keys)

    def swap(self, fenced: PartitionState, fingerprint: bytes, machine: str) -> None:
        """Make this generation the current one; Superseded if anybody wrote since the fence."""
        fields: dict[Any, Any] = {
            "generation": self.number,
            "fingerprint": fingerprint.hex(),
            "machine": machine,
            "epoch": fenced.epoch + 1,
        }
        # the feed has an entry for this event already: the number after the dash makes ids differ
        name = f"{fenced.watermark}-{self.number}"
        change = Change(follows=fenced.watermark, epoch=fenced.epoch + 1, is_all=True).pack()
        pipe: Any
        with store_errors(), self._client.pipeline() as pipe:
            try:
                pipe.watch(self._keys.state)
                state = PartitionState.of(pipe.hgetall(self._keys.state))
                if (state.epoch, state.watermark) != (fenced.epoch, fenced.watermark):
                    raise Superseded(
                        "somebody took over during the swap: run `hedgerow rebuild` again"
                    )
                pipe.multi()
                pipe.hset(self._keys.state, mapping=fields)
                pipe.xadd(self._keys.changes, dict(change), id=name)
                pipe.execute()
            except redis_errors.WatchError as error:
                raise Superseded(
                    "somebody took over during the swap: run `hedgerow rebuild` again"
                ) from error

    def remove_users(self, users: Sequence[str]) -> None:
        """Remove the rows of this generation that belong to users deleted meanwhile."""
        with store_errors():
            scores = self._client.zmscore(self._keys.users, list(users))
        gone = [user for user, score in zip(users, scores, strict=True) if score is None]
        if gone:
            self._run("UNLINK", *(self._keys.user_row(self.number, user) for user in gone))

    def remove_others(self) -> None:
        """Remove the rows of all earlier generations, in slices.

        An aborted rebuild has left no index of its items; our index includes them.
        """
        keys, others = self._keys, range(self.number)
        single = (
            keys.online,
            keys.counts,
            keys.transitions,
            keys.transition_journal,
            keys.item_rows,
        )
        ours = self._stored_items(self.number)
        for users in self.users():
            for number in others:
                self._run("UNLINK", *(keys.user_row(number, user) for user in users))
        for number in others:
            stored = np.union1d(ours, self._stored_items(number)).tolist()
            for first in range(0, len(stored), SLICE):
                rows = (keys.item_row(number, item) for item in stored[first : first + SLICE])
                self._run("UNLINK", *rows)
            self._run("UNLINK", *(key(number) for key in single))

    def _stored_items(self, number: int) -> I64:
        return RowStore(self._client, self._keys, number).stored_items()

    def users(self) -> Iterator[list[str]]:
        """Yield all users of the partition in slices, ordered by the bytes of their ids."""
        yield from users_of(self._client, self._keys)

    def _run(self, *command: str | int | bytes) -> None:
        send: Any = self._client.execute_command
        with store_errors():
            send(*command)

    def _send(self, transaction: Transaction) -> None:
        with store_errors():
            connection: Any = self._client.connection_pool.get_connection()
            try:
                packed = transaction.finish()
                packed.send(connection)
                packed.receive(connection)
            except BaseException:
                connection.disconnect()
                raise
            finally:
                self._client.connection_pool.release(connection)


def users_of(client: redis.Redis, keys: PartitionKeys) -> Iterator[list[str]]:
    """Yield all users of a partition in slices, ordered by the bytes of their ids."""
    first = "-"
    while True:
        with store_errors():
            answer = client.zrangebylex(keys.users, first, "+", start=0, num=SLICE)
        users = [user.decode() for user in cast("list[bytes]", answer)]
        if not users:
            return
        yield users
        first = f"({users[-1]}"


def lost_watermark(client: redis.Redis, keys: PartitionKeys) -> int:
    """Return the watermark of a partition that has lost its state.

    The log holds exactly the events that were not learned. Nobody knows how many a damaged entry
    held: it counts as one, which the learner sets aside.
    """
    with store_errors():
        entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", client.xrange(keys.log, count=1))
        if not entries:
            return int(cast("bytes | None", client.get(keys.sequence)) or 0)
    first = LogEntry.of(*entries[0])
    try:
        return first.last - (len(decode(first.packed)) if first.is_whole else 1)
    except ValueError:
        return first.last - 1


def differences(ours: RowStore, theirs: RowStore, users: Iterator[list[str]]) -> Iterator[str]:
    """Yield the names of rows and arrays that differ in any bit."""
    for page in users:
        pairs = zip(ours.user_rows(page), theirs.user_rows(page), strict=True)
        yield from _unequal("user", page, pairs)
    items = np.union1d(ours.stored_items(), theirs.stored_items()).tolist()
    pairs = zip(ours.item_rows(items), theirs.item_rows(items), strict=True)
    yield from _unequal("item", [str(item) for item in items], pairs)
    mine, other = ours.arrays(), theirs.arrays()
    yield from (f"array {n}" for n in sorted(mine | other) if mine.get(n) != other.get(n))


def _unequal(kind: str, names: Sequence[str], pairs: Iterator[tuple[Any, Any]]) -> Iterator[str]:
    rows = [pair for page in pairs for pair in zip(*page, strict=True)]
    yield from (f"{kind} {name}" for name, (a, b) in zip(names, rows, strict=True) if a != b)


def _flat(mapping: Mapping[str, bytes]) -> list[str | bytes]:
    return [part for pair in mapping.items() for part in pair]
