"""The stored counters of a partition's items: rows as in core/popularity.py, without gaps.

The commit writes runs of touched rows; readers read in slices.
"""

from collections.abc import Awaitable, Sequence
from typing import cast

import numpy as np
import redis
import redis.asyncio

from core.popularity import WIDTH
from core.types import F64, I64
from service.store.connection import store_errors
from service.store.keys import PartitionKeys

ROW_BYTES = 8 * WIDTH
SLICE_BYTES = ROW_BYTES * 40_000
"""Bytes read by one command: bounds how long other clients wait."""
GAP = 16
"""Most untouched rows that are written to join two runs: cheaper than another command."""

Pieces = Sequence[tuple[int, bytes]]
"""(offset, bytes) of each write."""


def pieces(rows: F64, touched: I64) -> Pieces:
    """Return the writes of a commit for some distinct items, given in rising order.

    >>> [(at, len(data)) for at, data in pieces(np.zeros((99, 3)), np.array([2, 4, 90]))]
    [(48, 72), (2160, 24)]
    """
    if not touched.size:
        return ()
    runs = np.split(touched, np.flatnonzero(np.diff(touched) > GAP) + 1)
    ends = [(int(run[0]), int(run[-1]) + 1) for run in runs]
    return [(first * ROW_BYTES, rows[first:end].astype("<f8").tobytes()) for first, end in ends]


def read_counts(client: redis.Redis, key: str) -> F64:
    """Return all rows."""
    parts: list[bytes] = []
    while not parts or len(parts[-1]) == SLICE_BYTES:
        with store_errors():
            answer = client.getrange(key, *_slice(len(parts)))
        parts.append(cast("bytes", answer))
    return _rows(parts)


class CountsReader:
    """Reads the counters of all partitions, for an api process."""

    def __init__(self, client: redis.asyncio.Redis, namespace: str, partitions: int) -> None:
        self._client = client
        self._keys = [PartitionKeys(namespace, partition) for partition in range(partitions)]

    async def watermarks(self) -> list[tuple[int, int]]:
        """Return (generation, watermark) of each partition."""
        with store_errors():
            pipe = self._client.pipeline(transaction=False)
            for keys in self._keys:
                pipe.hmget(keys.state, "generation", "watermark")
            answers = cast("list[list[bytes | None]]", await pipe.execute())
        return [(int(generation or 0), int(watermark or 0)) for generation, watermark in answers]

    async def rows(self, partition: int, generation: int) -> F64:
        """Return all rows of a partition."""
        key = self._keys[partition].counts(generation)
        parts: list[bytes] = []
        while not parts or len(parts[-1]) == SLICE_BYTES:
            with store_errors():
                answer = self._client.getrange(key, *_slice(len(parts)))
                parts.append(await cast("Awaitable[bytes]", answer))
        return _rows(parts)


def _slice(number: int) -> tuple[int, int]:
    return number * SLICE_BYTES, (number + 1) * SLICE_BYTES - 1


def _rows(parts: Sequence[bytes]) -> F64:
    return np.frombuffer(b"".join(parts), dtype="<f8").astype(np.float64).reshape(-1, WIDTH)
