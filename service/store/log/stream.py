"""The log of a partition: acknowledged events, numbered without gaps. Entries: see ``codec``.

Only the append script writes it; only the learner's commit trims it.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from typing import Any, NamedTuple, cast
from zlib import crc32

import redis
import redis.asyncio
from redis import exceptions as redis_errors

from service.errors import Backlogged, KeysChanged, StoreRefuses, StoreUnavailable
from service.store.connection import store_errors
from service.store.identity.known import NO_BASIS, Basis, Known
from service.store.identity.scripts import checking
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.erasure_order import ErasureOrder
from service.store.namespace import Namespace

RECEIPT_S = 86_400
"""Lifetime of a receipt in seconds: far longer than an append is repeated."""
RETRY_S = 5.0
"""Seconds for which an append is repeated while the store does not answer."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.25

_FULL, _STALE, _OTHER_KEYS = -1, -2, -3
_ANY_KEYS = "-"
_SCRIPT, _SCRIPT_SHA = checking(resources.files(__package__).joinpath("append_log.lua").read_text())


class LogWriter:
    """Runs the append script, the last of the steps that bring an event into the log.

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
    ) -> None:
        """``known``: which store it may write to; any store without it."""
        self._client, self._namespace = client, namespace.name
        self._known = known or Known(namespace.partitions)
        self._max_bytes = max_bytes
        self._retry_s = retry_s
        self._process = process_id or secrets.token_hex(8)
        self._counters = [0] * namespace.partitions
        self._keys = [
            _script_keys(namespace.name, p, self._process) for p in range(namespace.partitions)
        ]

    async def append(
        self,
        partition: int,
        packed: bytes,
        n: int,
        basis: Basis = NO_BASIS,
        order: ErasureOrder | None = None,
        requests: bytes = b"",
    ) -> int:
        """Append an entry of n events and return the sequence of the last one.

        ``requests`` are those that the events came with, see ``requests.py``.

        With an ``order`` the entry is the deletion of a user: its erasure begins in the same step,
        and the user's document goes.

        Raises Backlogged if the log is full, StoreRolledBack if the store is another by now or has
        lost events, KeysChanged if the API keys are not those of the basis. Raises StoreUnavailable
        if the store did not answer for ``retry_s``; the events may or may not be in the log then.
        """
        self._counters[partition] += 1
        keys = self._keys[partition]
        arguments: tuple[Any, ...] = (
            *(n, packed, self._counters[partition], self._max_bytes, RECEIPT_S),
            *(basis.token or self._known.token, self._known.sequence(partition)),
            _ANY_KEYS if basis.keys is None else basis.keys,
            *(crc32(packed), requests),
        )
        if order is not None:
            keys = [*keys, *order.keys(self._namespace)]
            arguments = (*arguments, *order)
        answer = await self._until_answered(keys, arguments)
        if answer == _FULL:
            raise Backlogged("the log is full, the learner is behind: send the rows again later")
        if answer == _OTHER_KEYS:
            raise KeysChanged("the API keys have changed meanwhile: send it again")
        if answer == _STALE:
            raise StoreUnavailable(
                "an append was overtaken by a later one of this process: send it again"
            )
        self._known.note_sequence(partition, answer)
        return answer

    async def _until_answered(self, keys: list[str], arguments: tuple[Any, ...]) -> int:
        clock = asyncio.get_running_loop()
        deadline, pause = clock.time() + self._retry_s, FIRST_PAUSE_S
        while True:
            try:
                with store_errors():
                    return await self._send(keys, arguments)
            except StoreRefuses:
                raise
            except StoreUnavailable:
                if clock.time() + pause > deadline:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def _send(self, keys: list[str], arguments: tuple[Any, ...]) -> int:
        send: Callable[..., Awaitable[Any]] = self._client.execute_command
        try:
            answer = await send("EVALSHA", _SCRIPT_SHA, len(keys), *keys, *arguments)
        except redis_errors.NoScriptError:
            answer = await send("EVAL", _SCRIPT, len(keys), *keys, *arguments)
        return cast("int", answer)


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
    ]
