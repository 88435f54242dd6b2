"""How many WebSockets a process has."""

from collections.abc import Iterator
from contextlib import contextmanager

from service.errors import Overloaded


class SocketRoom:
    """Counts the open sockets of a process, up to ``most``."""

    def __init__(self, most: int) -> None:
        self._most, self.open = most, 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Count a socket while the block runs; Overloaded if there is no room for it."""
        if self.open >= self._most:
            raise Overloaded(
                f"{self._most} WebSockets are open to this process, which is all it allows "
                "(HEDGEROW_LIMITS__SOCKETS): use fewer, or send events with POST /v1/events",
                code="too_many_connections",
            )
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
