"""Tells which keys of a namespace were written since one last asked: every one, by any client.

The server itself keeps the list, as it does for caches in clients (CLIENT TRACKING, broadcast of a
prefix). So nothing depends on what writers report of themselves.
"""

from types import TracebackType
from typing import Any, Self

import redis
from redis import exceptions as redis_errors

from service.errors import Conflict, Misconfigured, StoreRolledBack
from service.store.connection import said, store_errors

CHANNEL = b"__redis__:invalidate"


class ChangedKeys:
    """The changes of keys that begin with one of some prefixes, while it is open."""

    def __init__(self, client: redis.Redis, prefixes: tuple[str, ...]) -> None:
        self._pool, self._prefixes = client.connection_pool, prefixes

    def __enter__(self) -> Self:
        # one connection that tracks and is told: when it breaks, both end, and we hear of it
        self._connection: Any = self._pool.get_connection()
        try:
            with store_errors():
                self._subscribe()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # it is subscribed, and so of no use for anything else
        self._connection.disconnect()
        self._pool.release(self._connection)

    def taken(self) -> set[bytes]:
        """Return the keys written since the last call; all that was answered before is in it.

        StoreUnavailable if the connection broke: then nobody knows.
        """
        changed: set[bytes] = set()
        with store_errors():
            self._connection.send_command("PING")
            # messages come in order: those about earlier writes before the answer
            while (answer := self._connection.read_response())[0] != b"pong":
                changed.update(self._keys(answer))
        return changed

    def _subscribe(self) -> None:
        try:
            ours = self._ask("CLIENT", "ID")
            prefixes = [word for prefix in self._prefixes for word in ("PREFIX", prefix)]
            self._ask("CLIENT", "TRACKING", "ON", "REDIRECT", ours, "BCAST", *prefixes)
            self._ask("SUBSCRIBE", CHANNEL)
        except redis_errors.ResponseError as error:
            raise Misconfigured(
                f"this Redis does not tell which keys change ({said(error)}): allow the user of "
                "HEDGEROW_REDIS_URL the commands CLIENT and SUBSCRIBE, or ask a server that has "
                "CLIENT TRACKING"
            ) from error

    def _ask(self, *words: Any) -> Any:
        self._connection.send_command(*words)
        return self._connection.read_response()

    def _keys(self, message: list[Any]) -> list[bytes]:
        kind, channel, keys = message
        if kind != b"message" or channel != CHANNEL:
            raise Conflict(f"the server sent {message!r}, which is no list of keys")
        if keys is None:
            raise StoreRolledBack("the store was emptied while its backup was taken")
        return list(keys)
