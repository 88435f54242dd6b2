"""The latest keys of requests (`Idempotency-Key`), each with the row that came first under it.

A client that uses a key again with another body is told so: its rows would count as repeats of the
first ones. One row is enough to tell them apart, and leaves a client free to send a body again
whole after it was cut, or after another row of it was mended.
"""

from collections.abc import Callable, Mapping
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
TAG_BYTES, INDEX_BYTES, ROW_BYTES = 6, 4, 6

_SCRIPT = resources.files(__package__).joinpath("request_keys.lua").read_text()


class RequestKeys:
    """The keys of a namespace."""

    def __init__(
        self, client: redis.asyncio.Redis, namespace: str, *, buckets: int = BUCKETS
    ) -> None:
        self._client, self._buckets = client, buckets
        self._key = NamespaceKeys(namespace).request_keys

    async def check(self, key: str, rows: Mapping[int, Any]) -> None:
        """Note the first of the rows if the key is new; Conflict if it came with another one.

        ``rows`` are events by their index in the body.
        """
        first = next(iter(rows))
        before = await self._first(key, first.to_bytes(INDEX_BYTES) + _digest(rows[first]))
        index = int.from_bytes(before[:INDEX_BYTES])
        if index in rows and _digest(rows[index]) != before[INDEX_BYTES:]:
            raise Conflict(
                f"this Idempotency-Key came before with another row {index}: nothing was stored, "
                "because its rows would count as repeats. Give each body a key of its own",
                code="idempotency_key_reused",
            )

    async def _first(self, key: str, row: bytes) -> bytes:
        named = blake2b(key.encode(), digest_size=2 + TAG_BYTES).digest()
        bucket = int.from_bytes(named[:2]) % self._buckets
        send: Callable[..., Any] = self._client.eval
        with store_errors():
            answer = await send(_SCRIPT, 1, self._key, bucket, named[2:], row, KEYS_A_BUCKET)
        return cast("bytes", answer)


def _digest(row: Any) -> bytes:
    """Return what stands for an event, however its JSON was written."""
    return blake2b(msgspec.msgpack.encode(row), digest_size=ROW_BYTES).digest()
