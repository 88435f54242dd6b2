"""Erasures: the receipts, which name nobody, and the users that are still to be erased.

An erasure begins with the deletion, in the same step (``log/erasure_order.py``). The name of a user
stands here only until the traces are gone. Synchronous: the api calls it in a thread.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
import redis
from redis import exceptions as redis_errors

from service.errors import NotFound
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.keys import NamespaceKeys
from service.store.log.append_queue import Row, entry_of
from service.store.log.codec import DELETE_USER, encode
from service.store.log.erasure_order import ErasureOrder

KEPT_S = 400 * 86_400
"""Seconds for which a receipt can be read: more than a year."""


class Removed(msgspec.Struct, frozen=True):
    """What was removed besides the user's own data."""

    links: int
    """Documents of others that linked to the user."""
    events: int
    """Events of the user in log entries that could not be learned."""
    unreadable: int
    """Log entries that nobody can read, and that may name the user: they are left."""
    documents: int = 0
    """Documents of others that nobody can read, and that may name the user: they are left."""


class Erasure(msgspec.Struct, frozen=True):
    """A receipt."""

    id: str
    partition: int
    sequence: int
    """The place of the deletion in the partition."""
    accepted_ms: int
    erased_ms: int | None = None
    """When the last trace was gone from the store."""
    removed: Removed | None = None
    is_private: bool = False
    """Whether the store was the private server, whose file is ours to rewrite."""
    off_disk_ms: int | None = None
    """When the file had been written anew."""


class Due(msgspec.Struct, frozen=True):
    """An erasure that is not done."""

    erasure: Erasure
    user: str
    """"" once only the file is left."""


class Erasures:
    """The erasures of a namespace."""

    def __init__(self, client: redis.Redis, namespace: str) -> None:
        self._client, self._keys = client, NamespaceKeys(namespace)

    def read(self, erasure: str) -> Erasure:
        """Return a receipt; NotFound."""
        [found] = self._read([erasure])
        if found is None:
            raise NotFound(f"there is no erasure {erasure!r}: receipts are kept for 400 days")
        return found

    def due(self) -> list[Due]:
        """Return the erasures that are not done."""
        with store_errors():
            stored = cast("dict[bytes, bytes]", self._client.hgetall(self._keys.erasures_due))
        users = {name.decode(): user.decode() for name, user in stored.items()}
        found = zip(self._read(list(users)), users.values(), strict=True)
        return [Due(erasure, user) for erasure, user in found if erasure is not None]

    def note_erased(self, done: Sequence[Erasure], removed: Removed, *, is_private: bool) -> bool:
        """Note that the store names these users no longer; forget who they were.

        Return False, and note nothing, if documents with links were written that nobody has looked
        at, see ``Traces.begin``.
        """
        changes = {"erased_ms": now_ms(), "removed": removed, "is_private": is_private}
        noted = [(_changed(one, changes), "" if is_private else None) for one in done]
        pipe: Any
        with store_errors(), self._client.pipeline() as pipe:
            pipe.watch(self._keys.links_made)
            # one field says that they are noted
            if pipe.hlen(self._keys.links_made) != 1:
                return False
            pipe.multi()
            pipe.delete(self._keys.links_made)
            self._queue(pipe, noted)
            try:
                pipe.execute()
            except redis_errors.WatchError:
                return False
        return True

    def note_off_disk(self, done: Sequence[Erasure]) -> None:
        """Note that the file of the private server names these users no longer."""
        changes = {"off_disk_ms": now_ms()}
        self._write([(_changed(one, changes), None) for one in done])

    def _read(self, erasures: Sequence[str]) -> list[Erasure | None]:
        if not erasures:
            return []
        with store_errors():
            stored = self._client.mget([self._keys.erasure(one) for one in erasures])
        packed = cast("list[bytes | None]", stored)
        return [None if one is None else msgspec.json.decode(one, type=Erasure) for one in packed]

    def _write(self, erasures: Sequence[tuple[Erasure, str | None]]) -> None:
        """Write receipts, each with the name of the user that is left; None: it is done."""
        with store_errors(), self._client.pipeline(transaction=True) as pipe:
            self._queue(pipe, erasures)
            pipe.execute()

    def _queue(self, pipe: Any, erasures: Sequence[tuple[Erasure, str | None]]) -> None:
        for erasure, user in erasures:
            pipe.set(self._keys.erasure(erasure.id), msgspec.json.encode(erasure), ex=KEPT_S)
            if user is None:
                pipe.hdel(self._keys.erasures_due, erasure.id)
            else:
                pipe.hset(self._keys.erasures_due, erasure.id, user)


def order(user: str, partition: int) -> ErasureOrder:
    """Return a new erasure of a user; it begins once its deletion is in the log."""
    erasure = Erasure(secrets.token_hex(10), partition, sequence=0, accepted_ms=now_ms())
    return again(Due(erasure, user))


def again(due: Due) -> ErasureOrder:
    """Return the order of an erasure that goes with a new deletion; its receipt moves there."""
    return ErasureOrder(due.erasure.id, due.user, msgspec.json.encode(due.erasure), KEPT_S)


def deletion(user: str, time_ms: int) -> bytes:
    """Return the log entry that deletes a user; an order goes with it."""
    row = Row(user, item=0, value=0.0, time_ms=time_ms, kind=DELETE_USER, flags=0, digest=b"")
    return encode(entry_of([row], time_ms))


def _changed(erasure: Erasure, changes: Mapping[str, Any]) -> Erasure:
    return msgspec.structs.replace(erasure, **changes)
