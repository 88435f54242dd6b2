"""The gate between a process and its store: while it is shut, commands fail at once.

Each connection comes from a pool with a gate. Without it, whoever asks a store that hangs waits for
the timeout of a socket, and so do all who wait for a free connection.
"""

import socket
from contextlib import suppress
from typing import Any, Protocol

import redis
import redis.asyncio
from redis import exceptions as redis_errors


class _Guarded(Protocol):
    def hang_up(self) -> None:
        """End the commands that are under way: they fail as if the connection was lost."""


class Gate:
    """Open unless somebody shuts it (``pulse``)."""

    def __init__(self) -> None:
        self.says: str | None = None
        """Why it is shut; None: it is open."""
        self._pools: list[_Guarded] = []

    @property
    def is_shut(self) -> bool:
        """Whether commands fail at once."""
        return self.says is not None

    def guard(self, pool: _Guarded) -> None:
        """Let a pool obey this gate."""
        self._pools.append(pool)

    def shut(self, says: str) -> None:
        """Let no command pass, and end those that are under way."""
        self.says = says
        for pool in self._pools:
            pool.hang_up()

    def open(self) -> None:
        """Let commands pass."""
        self.says = None

    def check(self) -> None:
        """Raise redis-py's ConnectionError while the gate is shut."""
        if self.says is not None:
            raise redis_errors.ConnectionError(self.says)


def obey(pool: "GuardedPool | AsyncGuardedPool", gate: Gate | None) -> None:
    """Put a pool behind a gate; without one it is always open."""
    if gate is not None:
        pool.gate = gate
        gate.guard(pool)


class GuardedPool(redis.ConnectionPool):
    """The connections of a blocking client."""

    gate = Gate()

    def get_connection(self, *args: Any, **options: Any) -> Any:
        self.gate.check()
        return super().get_connection(*args, **options)

    def hang_up(self) -> None:
        # only the socket: the connection belongs to the thread that waits for its reply
        for connection in tuple(self._in_use_connections):
            line: socket.socket | None = getattr(connection, "_sock", None)
            if line is not None:
                with suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)


class AsyncGuardedPool(redis.asyncio.BlockingConnectionPool):
    """The connections of an asyncio client; a caller waits while all of them are in use."""

    gate = Gate()

    async def get_connection(self, *args: Any, **options: Any) -> Any:
        self.gate.check()
        return await super().get_connection(*args, **options)  # type: ignore[no-untyped-call]

    def hang_up(self) -> None:
        for connection in tuple(self._in_use_connections):
            writer = getattr(connection, "_writer", None)
            if writer is not None:
                writer.transport.abort()
