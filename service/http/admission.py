"""The connections of an api process: how many there may be, and which of them waste its time.

A connection *waits* while the service has nothing to do for it: before the headers of a request are
complete. Nobody loses anything but time when it is closed, so it makes room for others. One look at
each second is enough: limits are seconds, and a timer for each request would cost more than that.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple, Protocol

from service.http.addresses import Networks
from service.limits import Limits

LOOK_S = 1.0
"""Seconds between two looks for slow clients."""
SPARE = 64
"""Connections beyond the bound that are kept for a moment, so that they can read their refusal."""
_NAME = "HEDGEROW_LIMITS__"


class Refusal(NamedTuple):
    """Why a client is refused before the application sees its request."""

    code: str
    detail: str


class Connection(Protocol):
    """What is admitted."""

    @property
    def body_bytes(self) -> int:
        """Bytes of bodies that have arrived."""

    @property
    def is_stream(self) -> bool:
        """Whether the present body may pause."""

    @property
    def paused(self) -> bool:
        """Whether it is us who do not read."""

    def refuse(self, refusal: Refusal) -> None:
        """Answer if that is possible, and close."""


class Progress(NamedTuple):
    """How far a body was when its present period began."""

    since: float
    body_bytes: int


class Admission:
    """Counts the connections of a process and ends those that wait too long."""

    def __init__(self, limits: Limits, exempt: Iterable[str] = ()) -> None:
        self._limits = limits
        self._networks = Networks(exempt, count_loopback=limits.count_loopback)
        self._open = 0
        self._from: Counter[str] = Counter()
        # the longest wait first: connections are added when they begin to wait
        self._waiting: dict[Connection, float] = {}
        self._strangers: dict[Connection, float] = {}
        """Those of them that never had a request: they make room before clients at rest."""
        self._bodies: dict[Connection, Progress] = {}
        self._looking: asyncio.TimerHandle | None = None

    def enter(self, connection: Connection, address: str | None) -> Refusal | None:
        """Count a connection and let it wait; return why there is no room for it, if so."""
        counted = self._networks.counted(address)
        self._open += 1
        self._from[counted] += 1
        self._look_soon()
        if counted and self._from[counted] > self._limits.connections_per_address:
            return _too_many(f"from {counted}", "connections_per_address", self._limits)
        if self._open > self._limits.connections and not self._make_room():
            return _too_many("to this process", "connections", self._limits)
        self._strangers[connection] = _now()
        return None

    def leave(self, connection: Connection, address: str | None) -> None:
        """Forget a connection that has ended."""
        counted = self._networks.counted(address)
        self._open -= 1
        self._from[counted] -= 1
        if not self._from[counted]:
            del self._from[counted]
        self.works(connection)
        self.received(connection)

    @property
    def overfull(self) -> bool:
        """Whether there is no room even for refusals."""
        return self._open > self._limits.connections + SPARE

    def waits(self, connection: Connection) -> None:
        """Note that the service has nothing to do for a connection."""
        self._waiting[connection] = _now()

    def works(self, connection: Connection) -> None:
        """Note that a connection has a request, or none any more."""
        self._waiting.pop(connection, None)
        self._strangers.pop(connection, None)

    def receives(self, connection: Connection) -> None:
        """Note that more of a connection's body is to come."""
        if connection not in self._bodies:
            self._bodies[connection] = Progress(_now(), connection.body_bytes)

    def received(self, connection: Connection) -> None:
        """Note that a connection's body is complete."""
        self._bodies.pop(connection, None)

    def look(self) -> None:
        """Refuse the connections whose clients are too slow."""
        self._looking = None
        now = _now()
        for waiting in (self._strangers, self._waiting):
            self._end_late(waiting, now - self._limits.header_s)
        for connection, progress in list(self._bodies.items()):
            self._check_body(connection, progress, now)
        if self._open:
            self._look_soon()

    def _end_late(self, waiting: Mapping[Connection, float], since: float) -> None:
        oldest = next(iter(waiting), None)
        while oldest is not None and waiting[oldest] <= since:
            self._end(oldest, self._slow_header())
            oldest = next(iter(waiting), None)

    def _look_soon(self) -> None:
        if self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(LOOK_S, self.look)

    def _make_room(self) -> bool:
        """Close the connection that has waited longest; return whether there was one."""
        oldest = next(chain(self._strangers, self._waiting), None)
        if oldest is None:
            return False
        self._end(oldest, _too_many("to this process", "connections", self._limits))
        return True

    def _end(self, connection: Connection, refusal: Refusal) -> None:
        self.works(connection)
        self.received(connection)
        connection.refuse(refusal)

    def _check_body(self, connection: Connection, progress: Progress, now: float) -> None:
        arrived = connection.body_bytes - progress.body_bytes
        period = self._limits.stream_pause_s if connection.is_stream else self._limits.body_s
        least = 1 if connection.is_stream else self._limits.body_bytes_per_s * period
        if connection.paused or (connection.is_stream and arrived):
            self._bodies[connection] = Progress(now, connection.body_bytes)
        elif now - progress.since >= period:
            if arrived < least:
                self._end(connection, self._slow_body(connection.is_stream))
            else:
                self._bodies[connection] = Progress(now, connection.body_bytes)

    def _slow_header(self) -> Refusal:
        most = f"{self._limits.header_s:g} s ({_NAME}HEADER_S)"
        return Refusal("too_slow", f"the headers were not complete after {most}: send them at once")

    def _slow_body(self, is_stream: bool) -> Refusal:
        if is_stream:
            most = f"{self._limits.stream_pause_s:g} s ({_NAME}STREAM_PAUSE_S)"
            return Refusal("too_slow", f"the stream paused for {most}: open it when there is more")
        least = f"{self._limits.body_bytes_per_s:g} bytes a second ({_NAME}BODY_BYTES_PER_S)"
        return Refusal(
            "too_slow",
            f"in {self._limits.body_s:g} s the body arrived more slowly than {least}: "
            "send it when it is complete, or lines as application/x-ndjson to a stream",
        )


def _too_many(where: str, setting: str, limits: Limits) -> Refusal:
    most = f"{getattr(limits, setting)} connections {where} ({_NAME}{setting.upper()})"
    return Refusal("too_many_connections", f"there may be {most}: use fewer, and try again")


def _now() -> float:
    return asyncio.get_running_loop().time()
