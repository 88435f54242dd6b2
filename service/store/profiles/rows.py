"""The stored rows of one generation of a partition, and the shared state of the online model."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import redis

from service.store.connection import store_errors
from service.store.keys import PartitionKeys

SLICE = 1_000
"""Keys per command when rows are read or removed: bounds how long other clients wait."""


class RowStore:
    """Reads the rows of one generation."""

    def __init__(self, client: redis.Redis, keys: PartitionKeys, generation: int) -> None:
        self._client, self._keys, self.generation = client, keys, generation

    def arrays(self) -> dict[str, bytes]:
        """Return the shared state of the online model."""
        with store_errors():
            answer = self._client.hgetall(self._keys.online(self.generation))
        stored = cast("dict[bytes, bytes]", answer)
        return {name.decode(): value for name, value in stored.items()}

    def stored_items(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the numbers of the items that have a row."""
        with store_errors():
            bitmap = self._client.get(self._keys.item_rows(self.generation))
        bits = np.unpackbits(np.frombuffer(cast("bytes | None", bitmap) or b"", dtype=np.uint8))
        return np.flatnonzero(bits)

    def item_rows(self, numbers: Sequence[int]) -> Iterator[list[bytes | None]]:
        """Yield the rows of the items, a slice at a time."""
        yield from self._rows([self._keys.item_row(self.generation, n) for n in numbers])

    def user_rows(self, users: Sequence[str]) -> Iterator[list[bytes | None]]:
        """Yield the rows of the users, a slice at a time."""
        yield from self._rows([self._keys.user_row(self.generation, user) for user in users])

    def _rows(self, keys: list[str]) -> Iterator[list[bytes | None]]:
        for first in range(0, len(keys), SLICE):
            with store_errors():
                answer = self._client.mget(keys[first : first + SLICE])
            yield cast("list[bytes | None]", answer)
