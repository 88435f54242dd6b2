"""The histories of a partition's users, for the learner, a rebuild and the trainer.

The api reads histories together with the other data that it caches of a user, see
``user_histories``.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
import redis

from service.store.connection import store_errors
from service.store.keys import PartitionKeys
from service.store.profiles.histories import Numbers, Records
from service.store.profiles.history_record import HISTORY, read_history


class HistoryStore:
    """Reads histories; an unknown user has an empty one."""

    def __init__(self, client: redis.Redis, keys: PartitionKeys) -> None:
        self._client, self._keys = client, keys

    def whole(self, user: str) -> tuple[Records, Numbers]:
        """Return a user's history and the items whose records were trimmed from it."""
        [history], [trimmed] = self.of_users([user])
        return history, trimmed

    def of_users(self, users: Sequence[str]) -> tuple[list[Records], list[Numbers]]:
        """Return the histories of some users and their trimmed items, all at one moment."""
        names = [self._keys.history(user) for user in users]
        names += [self._keys.trimmed(user) for user in users]
        with store_errors():
            packed = cast("list[bytes | None]", self._client.mget(names))
        histories, trimmed = packed[: len(users)], packed[len(users) :]
        return [read_history(one) for one in histories], [read_trimmed(one) for one in trimmed]

    def contexts(self, users: Sequence[str]) -> list[bytes]:
        """Return where the events of some users happened, packed as in ``contexts``."""
        if not users:
            return []
        with store_errors():
            found = self._client.mget([self._keys.contexts(user) for user in users])
        return [packed or b"" for packed in cast("list[bytes | None]", found)]

    def sizes(self, users: Sequence[str]) -> list[int]:
        """Return the size of each user's history in bytes."""
        with store_errors(), self._client.pipeline(transaction=False) as pipe:
            for user in users:
                pipe.strlen(self._keys.history(user))
            return cast("list[int]", pipe.execute())

    def tails(self, users: Sequence[str], n_bytes: int) -> list[Records]:
        """Return the records in the last ``n_bytes`` of each user's history."""
        with store_errors(), self._client.pipeline(transaction=False) as pipe:
            for user in users:
                pipe.strlen(self._keys.history(user))
                # more than wanted: there may be odd bytes behind the last record
                pipe.getrange(self._keys.history(user), -(n_bytes + HISTORY.itemsize), -1)
            answers = pipe.execute()
        return [
            _tail(size, tail, n_bytes)
            for size, tail in zip(answers[::2], answers[1::2], strict=True)
        ]


def _tail(size: int, tail: bytes, n_bytes: int) -> Records:
    """Return the last records of a history of this size, given its last bytes."""
    end = len(tail) - size % HISTORY.itemsize
    return read_history(tail[max(end - n_bytes, 0) : end])


def read_trimmed(packed: bytes | None) -> Numbers:
    """Return the numbers of the trimmed items; no numbers if the value is missing."""
    return np.frombuffer(packed or b"", dtype="<u4")


def pack_trimmed(numbers: Numbers) -> bytes:
    """Return the stored form of trimmed items.

    >>> read_trimmed(pack_trimmed(np.array([7, 9]))).tolist()
    [7, 9]
    """
    return numbers.astype("<u4").tobytes()
