"""The stored counters of a partition's items: rows as in core/popularity.py, without gaps.

The commit writes runs of touched rows; readers read in slices.
"""

from collections.abc import Awaitable, Sequence
from typing import NamedTuple, cast

import numpy as np
import redis
import redis.asyncio

from core.popularity import WIDTH
from core.types import F64, I64, U32
from service.store.connection import store_errors
from service.store.keys import PartitionKeys

ROW_BYTES = 8 * WIDTH
SLICE_BYTES = ROW_BYTES * 40_000
"""Bytes read by one command: bounds how long other clients wait."""
GAP = 16
"""Most untouched rows that are written to join two runs: cheaper than another command."""

Pieces = Sequence[tuple[int, bytes]]
"""(offset, bytes) of each write."""


def pieces(rows: F64 | U32, touched: I64) -> Pieces:
    """Return the writes of a commit for some distinct items, given in rising order.

    >>> [(at, len(data)) for at, data in pieces(np.zeros((99, 3)), np.array([2, 4, 90]))]
    [(48, 72), (2160, 24)]
    """
    if not touched.size:
        return ()
    runs = np.split(touched, np.flatnonzero(np.diff(touched) > GAP) + 1)
    ends = [(int(run[0]), int(run[-1]) + 1) for run in runs]
    stored, row_bytes = rows.dtype.newbyteorder("<"), rows.dtype.itemsize * rows.shape[1]
    return [(at * row_bytes, rows[at:end].astype(stored).tobytes()) for at, end in ends]


def read_counts(client: redis.Redis, key: str) -> F64:
    """Return all rows."""
    return _rows(read_whole(client, key))


def read_whole(client: redis.Redis, key: str) -> bytes:
    """Return a long string, read in slices."""
    parts: list[bytes] = []
    while not parts or len(parts[-1]) == SLICE_BYTES:
        with store_errors():
            answer = client.getrange(key, *_slice(len(parts)))
        parts.append(cast("bytes", answer))
    return b"".join(parts)


async def whole(client: redis.asyncio.Redis, key: str) -> bytes:
    """Return a long string, read in slices."""
    parts: list[bytes] = []
    while not parts or len(parts[-1]) == SLICE_BYTES:
        with store_errors():
            answer = client.getrange(key, *_slice(len(parts)))
            parts.append(await cast("Awaitable[bytes]", answer))
    return b"".join(parts)


class Learned(NamedTuple):
    """A moment of a partition: as long as it stays the same, so does what was learned."""

    generation: int
    watermark: int
    identity: str
    """Which store and era: after a rollback the same watermark means other events."""


async def states(client: redis.asyncio.Redis, partitions: Sequence[PartitionKeys]) -> list[Learned]:
    """Return the moment of each partition."""
    with store_errors():
        pipe = client.pipeline(transaction=False)
        for keys in partitions:
            pipe.hmget(keys.state, "generation", "watermark", "identity")
        answers = cast("list[list[bytes | None]]", await pipe.execute())
    return [
        Learned(int(generation or 0), int(watermark or 0), (identity or b"").decode())
        for generation, watermark, identity in answers
    ]


class CountsReader:
    """Reads the counters of all partitions, for an api process."""

    def __init__(self, client: redis.asyncio.Redis, namespace: str, partitions: int) -> None:
        self._client = client
        self._keys = [PartitionKeys(namespace, partition) for partition in range(partitions)]

    async def states(self) -> list[Learned]:
        """Return the moment of each partition."""
        return await states(self._client, self._keys)

    async def rows(self, partition: int, generation: int) -> F64:
        """Return all rows of a partition."""
        return _rows(await whole(self._client, self._keys[partition].counts(generation)))


def _slice(number: int) -> tuple[int, int]:
    return number * SLICE_BYTES, (number + 1) * SLICE_BYTES - 1


def _rows(stored: bytes) -> F64:
    return np.frombuffer(stored, dtype="<f8").astype(np.float64).reshape(-1, WIDTH)
