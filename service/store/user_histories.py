"""Histories for serving: many users of a partition in one round trip, with how far the partition had learned."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import redis.asyncio
from numpy.typing import NDArray

from service.store.codec import read_history
from service.store.connection import store_errors
from service.store.histories import live
from service.store.keys import PartitionKeys

USERS_READ = 64
"""Users of one command: bounds how long other clients of Redis wait."""


@dataclass(frozen=True)
class HistoryAnswer:
    """A user's records, and the items whose records were trimmed away."""

    records: NDArray[Any]
    """``codec.HISTORY``, oldest first, without those of deleted items."""
    trimmed: NDArray[np.uint32]
    watermark: int
    """The records hold at least everything up to here."""


class UserHistories:
    """Reads the histories of one partition."""

    def __init__(self, client: redis.asyncio.Redis, namespace: str, partition: int) -> None:
        self._client = client
        self._keys = PartitionKeys(namespace, partition)
        self._deleted: dict[int, int] | None = None
        self._forgotten = 0

    def forget_deletions(self) -> None:
        """Read anew which items were deleted, with the next histories."""
        self._deleted = None
        self._forgotten += 1

    async def read(self, users: Sequence[str]) -> list[HistoryAnswer]:
        """Return each user's history; an unknown user has an empty one."""
        keys = self._keys
        names = [key for user in users for key in (keys.history(user), keys.trimmed(user))]
        known, forgotten = self._deleted, self._forgotten
        with store_errors():
            pipe = self._client.pipeline(transaction=False)
            # before the histories: what they hold beyond it is more than was promised, never less
            pipe.hget(keys.state, "watermark")
            pipe.mget(names)
            if known is None:
                pipe.hgetall(keys.deleted_items)
            answer: list[Any] = await pipe.execute()
        deleted = _numbers(answer[2]) if known is None else known
        if forgotten == self._forgotten:
            self._deleted = deleted
        watermark, packed = int(answer[0] or 0), cast("list[bytes | None]", answer[1])
        return [
            HistoryAnswer(
                live(read_history(history), deleted),
                np.frombuffer(trimmed or b"", dtype="<u4"),
                watermark,
            )
            for history, trimmed in zip(packed[::2], packed[1::2], strict=True)
        ]


def _numbers(stored: dict[bytes, bytes]) -> dict[int, int]:
    return {int(number): int(sequence) for number, sequence in stored.items()}
