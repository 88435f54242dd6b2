"""Reads histories for serving: many users of a partition in one round trip, with its watermark."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import redis.asyncio
from numpy.typing import NDArray

from core.online.layout import RowLayout
from core.types import F32
from service.errors import NotReady
from service.store.connection import store_errors
from service.store.keys import PartitionKeys
from service.store.profiles.histories import live
from service.store.profiles.history_record import read_history
from service.store.profiles.history_store import read_trimmed
from service.store.profiles.reader import ATTEMPTS

USERS_READ = 64
"""Users per command: bounds how long other clients of Redis wait."""
_STATE = ["watermark", "generation", "fingerprint"]


@dataclass(frozen=True)
class HistoryAnswer:
    """A user's records, and the items whose records were trimmed away."""

    records: NDArray[Any]
    """``history_record.HISTORY``, oldest first, except records of deleted items."""
    trimmed: NDArray[np.uint32]
    watermark: int
    """Sequence up to which the records are complete; they may contain later events, too."""
    row: F32 | None = None
    """Row of the online model; None for a user without ratings, or if the rows do not fit."""


class UserHistories:
    """Reads the users of one partition."""

    def __init__(
        self, client: redis.asyncio.Redis, namespace: str, partition: int, layout: RowLayout
    ) -> None:
        self._client = client
        self._keys = PartitionKeys(namespace, partition)
        self._width, self._fingerprint = layout.width, layout.fingerprint.hex().encode()
        self._generation = 0
        self._deleted: dict[int, int] | None = None
        self._forgotten = 0

    def forget_deletions(self) -> None:
        """Read the deleted items again with the next histories."""
        self._deleted = None
        self._forgotten += 1

    async def read(self, users: Sequence[str]) -> list[HistoryAnswer]:
        """Return each user's history and row; the history of an unknown user is empty."""
        for _ in range(ATTEMPTS):
            known, forgotten = self._deleted, self._forgotten
            [state, packed, *stored] = await self._read(users, with_deletions=known is None)
            if int(state[1] or 0) != self._generation:
                self._generation = int(state[1] or 0)
                continue
            deleted = _numbers(stored[0]) if known is None else known
            if forgotten == self._forgotten:
                self._deleted = deleted
            ours = state[2] == self._fingerprint
            return [
                HistoryAnswer(
                    live(read_history(history), deleted),
                    read_trimmed(trimmed),
                    int(state[0] or 0),
                    self._row(row) if ours else None,
                )
                for history, trimmed, row in zip(*[iter(packed)] * 3, strict=True)
            ]
        raise NotReady("the online rows are being rebuilt: try again")

    async def sample(self, n: int) -> list[str]:
        """Return up to n distinct users, drawn at random."""
        with store_errors():
            answer = await cast(
                "Awaitable[list[bytes]]", self._client.zrandmember(self._keys.users, n)
            )
        return [user.decode() for user in answer]

    async def _read(self, users: Sequence[str], *, with_deletions: bool) -> list[Any]:
        keys = self._keys
        names = [
            key
            for user in users
            for key in (
                keys.history(user),
                keys.trimmed(user),
                keys.user_row(self._generation, user),
            )
        ]
        with store_errors():
            pipe = self._client.pipeline(transaction=False)
            # read before the histories, so that these hold at least the events up to the watermark
            pipe.hmget(keys.state, _STATE)
            pipe.mget(names)
            if with_deletions:
                pipe.hgetall(keys.deleted_items)
            return await pipe.execute()

    def _row(self, packed: bytes | None) -> F32 | None:
        fits = packed is not None and len(packed) == 4 * self._width
        return np.frombuffer(packed or b"", np.float32) if fits else None


def _numbers(stored: dict[bytes, bytes]) -> dict[int, int]:
    return {int(number): int(sequence) for number, sequence in stored.items()}
