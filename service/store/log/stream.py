"""The log of a partition: acknowledged events, numbered without gaps. Entries: see ``codec``.

Only the append scripts write it; only the learner's commit trims it.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple, Self, cast
from zlib import crc32

import redis
import redis.asyncio
from redis import exceptions as redis_errors

from service.errors import Backlogged, KeysChanged, NotReady, StoreRefuses, StoreUnavailable
from service.store.connection import store_errors
from service.store.identity.known import NO_BASIS, Basis, Known
from service.store.identity.scripts import checking
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.codec import PackedEntry, digests_in
from service.store.log.erasure_order import Order
from service.store.log.last_move import LastMove
from service.store.log.noted_ids import SCRIPT as NOTING
from service.store.log.noted_ids import NotedIds, Placed, script_keys
from service.store.namespace import Namespace

RECEIPT_S = 86_400
"""Lifetime of a receipt in seconds: far longer than an append is repeated."""
RETRY_S = 5.0
"""Seconds for which an append is repeated while the store does not answer."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.25

_FULL, _STALE, _OTHER_KEYS, _MOVED, _LATE = -1, -2, -3, -4, -5
_ANY_KEYS = "-"


class _Script(NamedTuple):
    """A script by its text and its digest."""

    text: str
    sha: str

    @classmethod
    def of(cls, name: str) -> Self:
        """Read a script, which may call the functions that append and those that note ids."""
        files = resources.files(__package__)
        parts = [files.joinpath(one).read_text() for one in ("appending.lua", name)]
        return cls(*checking(NOTING + "".join(parts)))


_APPEND, _TOGETHER = _Script.of("append_log.lua"), _Script.of("append_together.lua")


class LogWriter:
    """Runs the append scripts, the last of the steps that bring an event into the log.

    A repeat after a lost reply gets the first answer again. The caller keeps at most one append in
    flight for each partition.
    """

    def __init__(
        self,
        client: redis.asyncio.Redis,
        namespace: Namespace,
        *,
        max_bytes: int,
        known: Known | None = None,
        process_id: str | None = None,
        retry_s: float = RETRY_S,
        noted: NotedIds = NotedIds(),  # noqa: B008 - it never changes
    ) -> None:
        """``known``: which store it may write to; any store without it."""
        self._client, self._namespace = client, namespace.name
        self._known = known or Known(namespace.partitions)
        self._max_bytes = max_bytes
        self._retry_s, self._noted = retry_s, noted
        self._process = process_id or secrets.token_hex(8)
        self._counters = [0] * namespace.partitions
        self._together, self._n_together = asyncio.Lock(), 0
        self._keys = [
            _script_keys(namespace.name, p, self._process) for p in range(namespace.partitions)
        ]

    async def append(
        self,
        partition: int,
        packed: bytes,
        n: int,
        basis: Basis = NO_BASIS,
        order: Order | None = None,
        requests: bytes = b"",
    ) -> Placed:
        """Append an entry of n events; return where, and which of its ids came lately before.

        ``requests`` are those that the events came with, see ``requests.py``.

        With an ``ErasureOrder`` the entry is the deletion of a user: its erasure begins in the same
        step, and the user's document goes. With ``MergeMarks`` it is a merge, which is noted.

        Raises Backlogged if the log is full, StoreRolledBack if the store is another by now or has
        lost events, KeysChanged if the API keys are not those of the basis. Raises StoreUnavailable
        if the store did not answer for ``retry_s``; the events may or may not be in the log then,
        and if the basis says ``in_time`` they cannot get there any more.
        """
        until_ms = await self._until_ms() if basis.in_time else ""
        self._counters[partition] += 1
        keys = self._keys[partition]
        arguments: tuple[Any, ...] = (
            *(n, packed, self._counters[partition], self._max_bytes, RECEIPT_S),
            *(basis.token or self._known.token, self._known.sequence(partition)),
            _ANY_KEYS if basis.keys is None else basis.keys,
            *(crc32(packed), requests, *digests_in(packed), *self._noted, until_ms),
        )
        if order is not None:
            keys = [*keys, *order.keys(self._namespace)]
            arguments = (*arguments, *order.arguments())
        sequence, *repeats = await self._until_answered(_APPEND, keys, arguments)
        self._known.note_sequence(partition, sequence)
        return Placed(sequence, repeats)

    async def append_together(
        self, entries: Sequence[PackedEntry], before: LastMove, basis: Basis = NO_BASIS
    ) -> list[int]:
        """Append an entry to each of some partitions in one step: all are in the log, or none is.

        The last one moves a user's events away; ``before`` is the last merge of this user, as it
        was before the events were read. Return the sequence of the last event in each partition.
        Raises what ``append`` raises, and NotReady if there was another merge since.
        """
        keys = [PartitionKeys(self._namespace, one.partition) for one in entries]
        names = [keys[-1].append_receipt(f"{self._process}:together"), before.key]
        async with self._together:
            self._n_together += 1
            token = basis.token or self._known.token
            arguments: list[Any] = [self._n_together, self._max_bytes, RECEIPT_S, token, before.was]
            arguments.append(await self._until_ms())
            for of, one in zip(keys, entries, strict=True):
                names += [of.sequence, of.log, of.log_bytes, of.state]
                newest = self._known.sequence(one.partition)
                arguments += [one.n, one.packed, crc32(one.packed), newest]
            ends = await self._until_answered(_TOGETHER, names, arguments)
        for one, sequence in zip(entries, ends, strict=True):
            self._known.note_sequence(one.partition, sequence)
        return ends

    async def _until_answered(
        self, script: _Script, keys: list[str], arguments: Sequence[Any]
    ) -> list[int]:
        """Return the answer of a script; raise what it means if the entry was refused."""
        answer = await self._answer(script, keys, arguments)
        if answer[0] == _FULL:
            raise Backlogged("the log is full, the learner is behind: send the rows again later")
        if answer[0] == _OTHER_KEYS:
            raise KeysChanged("the API keys have changed meanwhile: send it again")
        if answer[0] == _MOVED:
            raise NotReady("another merge of this source came meanwhile: send this one again")
        if answer[0] == _LATE:
            raise StoreUnavailable("the store took too long, nothing was written: send it again")
        if answer[0] == _STALE:
            raise StoreUnavailable(
                "an append was overtaken by a later one of this process: send it again"
            )
        return answer

    async def _answer(
        self, script: _Script, keys: list[str], arguments: Sequence[Any]
    ) -> list[int]:
        clock = asyncio.get_running_loop()
        deadline, pause = clock.time() + self._retry_s, FIRST_PAUSE_S
        while True:
            try:
                with store_errors():
                    return await self._send(script, keys, arguments)
            except StoreRefuses:
                raise
            except StoreUnavailable:
                if clock.time() + pause > deadline:
                    # what was sent in time may be carried out until then
                    await asyncio.sleep(deadline - clock.time())
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def _until_ms(self) -> int:
        """Return until when, by the clock of the store, an append that begins now may be tried."""
        with store_errors():
            seconds, micros = await self._client.time()
        return 1_000 * seconds + micros // 1_000 + int(1_000 * self._retry_s)

    async def _send(self, script: _Script, keys: list[str], arguments: Sequence[Any]) -> list[int]:
        send: Callable[..., Awaitable[Any]] = self._client.execute_command
        try:
            answer = await send("EVALSHA", script.sha, len(keys), *keys, *arguments)
        except redis_errors.NoScriptError:
            answer = await send("EVAL", script.text, len(keys), *keys, *arguments)
        return cast("list[int]", answer)


class LogEntry(NamedTuple):
    """An entry as the log has it."""

    last: int
    """Sequence of its last event."""
    packed: bytes
    is_whole: bool = True
    """Whether these are the bytes that were appended, as far as anybody knows."""
    requests: bytes = b""
    """Those that its events came with and that are followed, see ``requests.py``."""

    @classmethod
    def of(cls, name: bytes, fields: Mapping[bytes, bytes]) -> "LogEntry":
        """Read an entry of the stream; those of earlier versions have no checksum."""
        packed, checksum = fields[b"d"], fields.get(b"c")
        is_whole = checksum is None or checksum == b"%d" % crc32(packed)
        return cls(int(name.partition(b"-")[0]), packed, is_whole, fields.get(b"r", b""))


class LogReader:
    """Reads the log of one partition in order."""

    FIRST_COUNT = 16

    def __init__(self, client: redis.Redis, keys: PartitionKeys) -> None:
        self._client = client
        self._log = keys.log
        self._entry_bytes = 0.0

    def read_after(self, watermark: int, *, block_ms: int, max_bytes: int) -> list[LogEntry]:
        """Return the next entries, about ``max_bytes``.

        The first entry may begin at or before the watermark. If there is none, wait up to
        ``block_ms`` for it; 0 does not wait.
        """
        answer = self._read(watermark, block_ms, self._count(max_bytes))
        if not answer:
            return []
        entries = [LogEntry.of(name, fields) for name, fields in answer]
        self._entry_bytes = sum(len(entry.packed) for entry in entries) / len(entries)
        return entries

    def _count(self, max_bytes: int) -> int:
        if not self._entry_bytes:
            return self.FIRST_COUNT
        return max(1, min(10_000, int(max_bytes / self._entry_bytes)))

    def _read(
        self, watermark: int, block_ms: int, count: int
    ) -> list[tuple[bytes, dict[bytes, bytes]]]:
        with store_errors():
            answer: Any = self._client.xread(
                {self._log: f"{watermark}-0"}, count=count, block=block_ms or None
            )
        return answer[0][1] if answer else []


def _script_keys(namespace: str, partition: int, process: str) -> list[str]:
    keys = PartitionKeys(namespace, partition)
    return [
        *(keys.sequence, keys.log, keys.log_bytes, keys.append_receipt(process), keys.state),
        NamespaceKeys(namespace).api_keys_version,
        *script_keys(keys),
    ]
