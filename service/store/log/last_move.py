"""The last merge that a user was part of, so that none rests on what another one has changed.

A merge across partitions sends the events that were read before. Meanwhile another merge may have
given them to somebody else, or given the user more events. So each merge is noted with its append,
and the script that appends one across partitions refuses it if another one was noted since it read.
"""

from collections.abc import Awaitable
from hashlib import blake2b
from typing import NamedTuple, cast

import redis.asyncio

from service.store.connection import store_errors
from service.store.keys import PartitionKeys


class LastMove(NamedTuple):
    """Where the last merge of a user is noted, and what was noted when it was read."""

    key: str
    was: bytes
    """Its sequence; b"" if there was none lately."""


class MergeMarks(NamedTuple):
    """Where the append script notes a merge of two users of one partition."""

    marks: tuple[str, ...]

    @classmethod
    def of(cls, namespace: str, partition: int, users: tuple[str, str]) -> "MergeMarks":
        """Return the places of both users."""
        return cls(tuple(_key(namespace, partition, user) for user in users))

    def keys(self, _namespace: str) -> tuple[str, ...]:
        """Return what is written."""
        return self.marks

    def arguments(self) -> tuple[()]:
        """Return nothing: the script knows what it notes."""
        return ()


async def last_move(
    client: redis.asyncio.Redis, namespace: str, partition: int, user: str
) -> LastMove:
    """Read the last merge of a user of a partition."""
    key = _key(namespace, partition, user)
    with store_errors():
        found = await cast("Awaitable[bytes | None]", client.get(key))
    return LastMove(key, found or b"")


def _key(namespace: str, partition: int, user: str) -> str:
    # the name itself would stay for a day after the user was erased
    digest = blake2b(user.encode(), digest_size=16).hexdigest()
    return PartitionKeys(namespace, partition).last_move(digest)
