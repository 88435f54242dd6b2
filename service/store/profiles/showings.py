"""The stored showings of a partition's items: how often each was shown, and clicked on.

Rows as those of the counters: without gaps, by item number. The learner counts, see
``learning/state/showings.py``. A rebuild keeps them, because no history holds impressions.
"""

from collections.abc import Sequence

import numpy as np
import redis
import redis.asyncio

from core.types import I64, U32
from service.store.keys import PartitionKeys
from service.store.profiles.counters import Learned, read_whole, states, whole

SHOWN, CLICKED = range(2)
"""Columns of a row: number of impressions, number of clicks."""
WIDTH = 2


def read_showings(client: redis.Redis, keys: PartitionKeys) -> U32:
    """Return the rows (n, 2) of a partition."""
    return _rows(read_whole(client, keys.showings))


class ShowingsReader:
    """Reads the showings of all partitions, for an api process."""

    def __init__(self, client: redis.asyncio.Redis, namespace: str, partitions: int) -> None:
        self._client = client
        self._keys = [PartitionKeys(namespace, partition) for partition in range(partitions)]
        self._states: Sequence[Learned] = []
        self._rows: I64 = np.zeros((0, WIDTH), np.int64)

    async def refreshed(self) -> I64:
        """Return the rows of all partitions, added up; the same object if nothing was learned."""
        now = await states(self._client, self._keys)
        if now != self._states:
            self._rows = _sum([_rows(await whole(self._client, k.showings)) for k in self._keys])
            self._states = now
        return self._rows


def _rows(stored: bytes) -> U32:
    return np.frombuffer(stored, dtype="<u4").astype(np.uint32).reshape(-1, WIDTH)


def _sum(parts: Sequence[U32]) -> I64:
    rows = np.zeros((max(map(len, parts), default=0), WIDTH), np.int64)
    for part in parts:
        rows[: len(part)] += part
    return rows
