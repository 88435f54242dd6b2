"""Streams in which programs of others leave events for us, read by a consumer group.

An entry stays until its events are stored: then it is removed. Redis remembers which process has
it; what a process held when it died goes to another one after a while.
"""

import os
import secrets
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import redis.asyncio
from redis import exceptions as redis_errors

from service.store.connection import store_errors
from service.store.keys import PartitionKeys

GROUP = "hedgerow"
FIELD = b"event"
"""The field of an entry that holds its events."""
REFUSED_KEPT = 10_000
"""Approximate number of refused entries that are kept."""


class Entry(NamedTuple):
    """An entry of an inbox."""

    partition: int
    id: str
    event: bytes
    """Empty if the entry has no such field."""


class Refusal(NamedTuple):
    """Why an entry is not stored whole, and what of it is set aside."""

    code: str
    reason: str
    event: bytes


class Inbox:
    """The inboxes of a namespace, as one of the processes that read them."""

    def __init__(
        self, client: redis.asyncio.Redis, namespace: str, partitions: int, patience_s: float
    ) -> None:
        """``patience_s``: what another process holds for longer is taken from it."""
        self._client, self._patience_ms = client, int(patience_s * 1000)
        self._keys = [PartitionKeys(namespace, partition) for partition in range(partitions)]
        self._number = {keys.inbox.encode(): p for p, keys in enumerate(self._keys)}
        self._me = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"

    async def open(self) -> None:
        """Make what is not there yet."""
        for keys in self._keys:
            with store_errors():
                try:
                    await self._client.xgroup_create(keys.inbox, GROUP, id="0", mkstream=True)
                except redis_errors.ResponseError as error:
                    if not str(error).startswith("BUSYGROUP"):
                        raise

    async def close(self) -> None:
        """Leave the group; what is still held goes to another process later."""
        for keys in self._keys:
            async with self._made_again():
                held = await self._client.xpending_range(
                    keys.inbox, GROUP, min="-", max="+", count=1, consumername=self._me
                )
                if not held:
                    await self._client.xgroup_delconsumer(keys.inbox, GROUP, self._me)

    @asynccontextmanager
    async def _made_again(self) -> AsyncIterator[None]:
        """Make what somebody removed meanwhile; what was in it is gone."""
        with store_errors():
            try:
                yield
            except redis_errors.ResponseError as error:
                if not str(error).startswith("NOGROUP"):
                    raise
                await self.open()

    async def read(self, most: int, wait_s: float) -> list[Entry]:
        """Return entries that nobody holds, the oldest first; none if none came for a moment."""
        streams: dict[Any, Any] = {keys.inbox: ">" for keys in self._keys}
        found: Any = None
        async with self._made_again():
            found = await self._client.xreadgroup(
                GROUP, self._me, streams, count=most, block=int(wait_s * 1000)
            )
        return [
            _entry(self._number[key], one, fields)
            for key, entries in found or ()
            for one, fields in entries
        ]

    async def take_over(self, most: int) -> list[Entry]:
        """Return entries that another process has held for too long."""
        entries: list[Entry] = []
        for partition, keys in enumerate(self._keys):
            async with self._made_again():
                answer: Any = await self._client.xautoclaim(
                    keys.inbox, GROUP, self._me, self._patience_ms, count=most
                )
                # one without fields was removed meanwhile
                entries += [_entry(partition, one, fields) for one, fields in answer[1] if fields]
        return entries

    async def hold(self, entries: Sequence[Entry]) -> None:
        """Say that these are still being worked on."""
        for partition, keys in enumerate(self._keys):
            ids: Any = [one.id for one in entries if one.partition == partition]
            if ids:
                async with self._made_again():
                    await self._client.xclaim(
                        keys.inbox, GROUP, self._me, min_idle_time=0, message_ids=ids, justid=True
                    )

    async def finish(self, entries: Sequence[tuple[Entry, Refusal | None]]) -> None:
        """Remove entries; what was refused of them is kept beside, all of it or nothing."""
        with store_errors():
            async with self._client.pipeline(transaction=True) as pipeline:
                for entry, refusal in entries:
                    keys = self._keys[entry.partition]
                    if refusal is not None:
                        fields: Any = {"entry": entry.id, **refusal._asdict()}
                        pipeline.xadd(
                            keys.inbox_refused, fields, maxlen=REFUSED_KEPT, approximate=True
                        )
                    pipeline.xack(keys.inbox, GROUP, entry.id)
                    pipeline.xdel(keys.inbox, entry.id)
                await pipeline.execute()


def _entry(partition: int, one: bytes, fields: dict[bytes, bytes]) -> Entry:
    return Entry(partition, one.decode(), fields.get(FIELD, b""))
