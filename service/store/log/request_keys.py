"""The latest keys of requests (`Idempotency-Key`), each with the row that came first under it.

A client that uses a key again with another body is told so: its rows would count as repeats of the
first ones. One row is enough to tell them apart, and leaves a client free to send a body again
whole after it was cut, or after another row of it was mended.

Producers share the place as they share the window of event ids: who has the most keys of a bucket
loses the oldest one, so nobody displaces the keys of others who send less. A key is the same
whoever sends it.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from hashlib import blake2b
from importlib import resources
from typing import Any, cast

import msgspec
import redis.asyncio

from service.errors import Conflict
from service.store.connection import store_errors
from service.store.keys import NamespaceKeys

BUCKETS, KEYS_A_BUCKET = 1 << 16, 16
"""So many keys are remembered: about a million, in at most 20 MB."""
TAG_BYTES, PRODUCER_BYTES, INDEX_BYTES, ROW_BYTES = 5, 1, 4, 6
"""Parts of an entry. Before there were producers, a sixth byte of the tag stood in their place."""
NAMED_BYTES = 8
"""Bytes of the digest of a key: of another size it would be another digest."""

_SCRIPT = resources.files(__package__).joinpath("request_keys.lua").read_text()


class RequestKeys:
    """The keys of a namespace."""

    def __init__(
        self, client: redis.asyncio.Redis, namespace: str, *, buckets: int = BUCKETS
    ) -> None:
        self._client, self._buckets = client, buckets
        self._key = NamespaceKeys(namespace).request_keys
        self._asked: list[tuple[tuple[Any, ...], asyncio.Future[bytes]]] = []
        self._asking: asyncio.Task[None] | None = None

    async def check(self, key: str, producer: bytes, rows: Mapping[int, Any]) -> None:
        """Note the first of the rows if the key is new; Conflict if it came with another one.

        ``rows`` are events by their index in the body; ``producer``: the bytes of who sends them.
        """
        first = next(iter(rows))
        row = first.to_bytes(INDEX_BYTES) + _digest(rows[first])
        before = await self._first(key, producer[:PRODUCER_BYTES], row)
        index = int.from_bytes(before[:INDEX_BYTES])
        if index in rows and _digest(rows[index]) != before[INDEX_BYTES:]:
            raise Conflict(
                f"this Idempotency-Key came before with another row {index}: nothing was stored, "
                "because its rows would count as repeats. Give each body a key of its own",
                code="idempotency_key_reused",
            )

    async def _first(self, key: str, producer: bytes, row: bytes) -> bytes:
        named = blake2b(key.encode(), digest_size=NAMED_BYTES).digest()
        bucket = int.from_bytes(named[:2]) % self._buckets
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._asked.append(
            ((bucket, named[2 : 2 + TAG_BYTES], producer, row, KEYS_A_BUCKET), answer)
        )
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
        return await answer

    async def _ask(self) -> None:
        """Ask together for all that is asked for meanwhile; a command alone costs as much."""
        while self._asked:
            asked, self._asked = self._asked, []
            pipe = self._client.pipeline(transaction=False)
            for arguments, _ in asked:
                pipe.eval(_SCRIPT, 1, self._key, *arguments)
            try:
                with store_errors():
                    answers = await cast("Awaitable[list[Any]]", pipe.execute())
            except Exception as error:  # noqa: BLE001 - who asked is told
                answers = [error] * len(asked)
            for (_, waiting), answer in zip(asked, answers, strict=True):
                if waiting.cancelled():
                    continue
                if isinstance(answer, Exception):
                    waiting.set_exception(answer)
                else:
                    waiting.set_result(answer)
        self._asking = None


def _digest(row: Any) -> bytes:
    """Return what stands for an event, however its JSON was written."""
    return blake2b(msgspec.msgpack.encode(row), digest_size=ROW_BYTES).digest()
