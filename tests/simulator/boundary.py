"""The boundary of the store, where things go wrong: clients of a real server, whose calls may fail.

A call sends its commands whole and waits for all their replies before anything else happens, so
that the server's part of the run is as deterministic as ours. What may happen to it then is drawn
from the seed; ``Faults`` says how often, and the counters of ``Occurred`` prove that it happened.
"""

import asyncio
import random
import re
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import redis
import redis.asyncio
from redis import exceptions as redis_errors
from redis.backoff import NoBackoff
from redis.retry import Retry

from service.store.gate import GuardedPool
from tests.simulator.scheduler import Process

_MARK = b"<done>"
_ASK, _DONE = b"*2\r\n$4\r\nECHO\r\n$6\r\n%b\r\n" % _MARK, b"$6\r\n%b\r\n" % _MARK
_MULTI = b"*1\r\n$5\r\nMULTI"
_NIL = b"*-1\r\n"
_SCRIPT = re.compile(rb"\*\d+\r\n\$\d+\r\nEVAL(SHA)?\r\n")
LONGEST_S = 0.2
"""Longest way of a call to the store or back, in seconds."""
LATE_S = 3.0
"""Longest time that a call is under way whose caller has given it up."""

_EXPIRES = re.compile(rb"(:lease\r\n.*\r\n)\$\d+\r\n[1-9]\d*\r\n$", re.DOTALL)
"""The call that takes or keeps a lease ends with the ms that it lives."""

Rewrite = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Faults:
    """How likely each fault is at one call."""

    lost_before: float = 0.0
    """The call never arrives, and its caller finds the connection lost."""
    lost_after: float = 0.0
    """The call is carried out, and its caller never hears of it."""
    late: float = 0.0
    """The caller gives the call up, and it is carried out later, when nobody waits for it."""
    doubled: float = 0.0
    """A script is carried out once more, later, as a client that sends again would do."""
    crash_before: float = 0.0
    """The caller ends before the call is sent."""
    crash_after: float = 0.0
    """The caller ends after the call is carried out."""
    crash_under_way: float = 0.0
    """The caller ends, and the call is carried out later."""
    stall: float = 0.0
    """The caller stops for so long that others take it for dead."""
    stall_s: float = 0.0

    @staticmethod
    def drawn(rng: random.Random) -> "Faults":
        """Return a mix of faults: each seed has some kinds of them, rare or frequent."""
        names = [name for name in Faults.__annotations__ if name != "stall_s"]
        level = rng.choice((0.01, 0.03, 0.06))
        chosen = {name: level * rng.uniform(0.2, 1.0) for name in names if rng.random() < 0.6}
        return Faults(**chosen, stall_s=rng.choice((0.5, 4.0, 4.0)))


class Line:
    """A socket to the server; whoever sends waits until all of it is carried out and answered."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self.replies = b""
        self.is_lost = self.is_closed = False

    def sendall(self, data: bytes) -> None:
        self._socket.sendall(data + _ASK)
        parts = bytearray()
        while not parts.endswith(_DONE):
            got = self._socket.recv(1 << 16)
            if not got:
                raise ConnectionError("the server has closed the connection")
            parts += got
        self.replies += parts[: -len(_DONE)]

    def recv(self, n: int) -> bytes:
        if self.is_lost:
            raise ConnectionError("the reply was lost")
        taken, self.replies = self.replies[:n], self.replies[n:]
        if not taken:
            raise AssertionError("a reply is read that no command has asked for")
        return taken

    def recv_into(self, buffer: memoryview) -> int:
        taken = self.recv(len(buffer))
        buffer[: len(taken)] = taken
        return len(taken)

    def settimeout(self, seconds: float | None) -> None:
        """Replies are always there."""

    def shutdown(self, how: int) -> None:
        """``close`` follows."""

    def close(self) -> None:
        self._socket.close()
        self.is_lost = self.is_closed = True


def timeless(data: bytes) -> bytes:
    """Return a call without the server's clock: no lease expires by it."""
    return _EXPIRES.sub(rb"\1$9\r\n999999999\r\n", data)


class Surroundings(Protocol):
    """What a boundary asks of the simulated world, and tells it."""

    faults: Faults
    occurred: Counter[str]
    """What happened how often."""
    lines: list[Line]
    """Every line that was opened, to be closed at the end."""

    def sent(self, process: Process, data: bytes) -> None:
        """Note that the store has carried out a call."""


class Boundary:
    """What one process has between itself and the store."""

    def __init__(
        self, process: Process, path: str, world: Surroundings, rewrite: Rewrite | None = None
    ) -> None:
        """``rewrite`` makes something else of each call: a bug that must be found."""
        self.process, self.path = process, path
        self._world, self._rewrite = world, rewrite

    def call(self, connection: "Connection", data: bytes) -> None:
        """Carry a call to the store and its replies back, or not."""
        process, faults = self.process, self._world.faults
        if process.is_killed:
            # what it does while it unwinds, or when the collector finds its clients
            raise redis_errors.ConnectionError("the process has ended")
        data = timeless(data if self._rewrite is None else self._rewrite(data))
        # the promises hang on commits: a learner must often be overtaken there
        if self._happens("stall", times=30 if data.startswith(_MULTI) else 1):
            process.pause(faults.stall_s)
        process.pause(self._way_s())
        if self._happens("crash_before"):
            process.crash()
        if self._happens("lost_before"):
            connection.disconnect()
            raise redis_errors.ConnectionError("lost before")
        if connection.line.is_closed:
            connection.disconnect()
            raise redis_errors.ConnectionError("the server was started anew")
        if self._happens("late"):
            self._deliver_later(connection.give_up_line(), data)
            raise redis_errors.TimeoutError("no reply in time")
        if self._happens("crash_under_way"):
            self._deliver_later(connection.give_up_line(), data)
            process.crash()
        self._deliver(connection.line, data)
        if _SCRIPT.match(data) and self._happens("doubled"):
            self._deliver_later(self.opened(), data)
        if self._happens("crash_after"):
            process.crash()
        if self._happens("lost_after"):
            connection.line.is_lost = True
        elif process.scheduler.rng.random() < 0.25:
            # others may go on before the caller hears of it
            process.pause(self._way_s())

    def opened(self) -> Line:
        """Open a line to the store."""
        self._world.lines.append(Line(self.path))
        return self._world.lines[-1]

    def _deliver(self, line: Line, data: bytes) -> None:
        line.sendall(data)
        self._world.sent(self.process, data)

    def _deliver_later(self, line: Line, data: bytes) -> None:
        def deliver() -> None:
            if not line.is_closed:
                self._deliver(line, data)
                line.close()

        scheduler = self.process.scheduler
        scheduler.later(LATE_S * scheduler.rng.random() ** 2, deliver)

    def _way_s(self) -> float:
        return LONGEST_S * float(self.process.scheduler.rng.random() ** 4)

    def _happens(self, fault: str, *, times: int = 1) -> bool:
        chance: float = times * getattr(self._world.faults, fault)
        happens = chance > 0.0 and self.process.scheduler.rng.random() < chance
        self._world.occurred[fault] += happens
        return happens


class Connection(redis.UnixDomainSocketConnection):
    """A connection whose every call passes the boundary."""

    def __init__(self, *, boundary: Boundary, **options: Any) -> None:
        super().__init__(**options)
        self._boundary = boundary

    @property
    def line(self) -> Line:
        assert isinstance(self._sock, Line)
        return self._sock

    def give_up_line(self) -> Line:
        """Disconnect, and return the line, which stays open."""
        line, self._sock = self.line, None
        self.disconnect()
        return line

    def _connect(self) -> Line:
        return self._boundary.opened()

    def can_read(self, timeout: float = 0) -> bool:
        """Return whether something waits that nobody has asked for: the pool drops the line."""
        return self._sock is not None and (bool(self.line.replies) or self.line.is_lost)

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        if self._sock is None:
            self.connect()
        data = command if isinstance(command, bytes) else b"".join(command)
        self._boundary.call(self, data)

    def send_command(self, *args: Any, **options: Any) -> None:
        if args[0] != "XREAD" or b"BLOCK" not in args:
            super().send_command(*args, **options)
            return
        # the server must never wait by its own clock
        at = args.index(b"BLOCK")
        unblocked = (*args[:at], *args[at + 2 :])
        super().send_command(*unblocked, **options)
        if not self.line.is_lost and self.line.replies == _NIL:
            self.line.recv(len(_NIL))
            self._boundary.process.pause(float(args[at + 1]) / 1_000)
            super().send_command(*unblocked, **options)


def client_of(boundary: Boundary) -> redis.Redis:
    """Return a blocking client, as ``store.connection.connect`` makes one."""
    pool = GuardedPool(
        connection_class=Connection,
        boundary=boundary,
        path=boundary.path,
        protocol=2,
        driver_info=None,
        retry=Retry(NoBackoff(), 0),
    )
    return redis.Redis.from_pool(pool)


class AsyncClient(redis.asyncio.Redis):
    """A client for an event loop; other tasks of the loop run before each call."""

    def __init__(self, boundary: Boundary) -> None:
        super().__init__()
        self._blocking, self._rng = client_of(boundary), boundary.process.scheduler.rng

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        await self.others()
        if args[0] != "XREAD" or b"BLOCK" not in args:
            return self._blocking.execute_command(*args, **options)
        at = args.index(b"BLOCK")
        unblocked = (*args[:at], *args[at + 2 :])
        found = self._blocking.execute_command(*unblocked, **options)
        if not found:
            await asyncio.sleep(float(args[at + 1]) / 1_000)
            found = self._blocking.execute_command(*unblocked, **options)
        return found

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Any:
        return AsyncPipeline(self, self._blocking.pipeline(transaction))

    async def others(self) -> None:
        """Let other tasks run."""
        await asyncio.sleep(LONGEST_S * self._rng.random() ** 4)


class AsyncPipeline:
    """A pipeline of an ``AsyncClient``."""

    def __init__(self, client: AsyncClient, pipe: Any) -> None:
        self._client, self._pipe = client, pipe

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pipe, name)

    async def execute(self) -> Any:
        await self._client.others()
        return self._pipe.execute()
