"""A load client much cheaper than any server: prebuilt bytes, keep-alive, one uvloop protocol each.

Not a general client: it understands just enough HTTP/1.1 to find the end of an answer that has a
``content-length``. Try it alone:

    python -m bench.http_client 127.0.0.1 8000 /healthz
"""

import argparse
import asyncio
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import uvloop
from numpy.typing import NDArray

_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"content-length: "


@dataclass(frozen=True)
class Load:
    """Result of one load run; ``latency_ms`` is sorted."""

    requests: int
    errors: int
    seconds: float
    latency_ms: NDArray[np.float64]

    @property
    def rate(self) -> float:
        """Answers without an error per second."""
        return (self.requests - self.errors) / self.seconds

    def percentile(self, q: float) -> float:
        """Return the q-th percentile of the latencies in ms, NaN without requests."""
        return float(np.percentile(self.latency_ms, q)) if len(self.latency_ms) else float("nan")


@dataclass(frozen=True)
class Answer:
    """One complete answer."""

    status: int
    body: bytes


def request(
    method: str, path: str, body: bytes = b"", *, headers: Iterable[tuple[str, str]] = ()
) -> bytes:
    """Return the bytes of one request."""
    lines = [f"{method} {path} HTTP/1.1", "host: localhost", f"content-length: {len(body)}"]
    if body:
        lines.append("content-type: application/json")
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode() + _END_OF_HEAD + body


class _Connection(asyncio.Protocol):
    """Sends one request at a time and passes each answer to ``answered``."""

    def __init__(self, answered: Callable[["_Connection", int, bytes], None]) -> None:
        self._answered = answered
        self._received = b""
        self._transport: asyncio.WriteTransport | None = None
        self.sent_at = 0.0
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def send(self, packed: bytes, at: float) -> None:
        self.sent_at = at
        self._transport.write(packed)  # type: ignore[union-attr]

    def data_received(self, data: bytes) -> None:
        if self._received:
            data = self._received + data
        head = data.find(_END_OF_HEAD)
        if head < 0:
            self._received = data
            return
        at = data.find(_LENGTH, 0, head)
        if at < 0:  # some servers write Content-Length
            at = data[:head].lower().find(_LENGTH)
        length = int(data[at + len(_LENGTH) : data.find(b"\r", at)]) if at >= 0 else 0
        end = head + 4 + length
        if len(data) < end:
            self._received = data
            return
        self._received = data[end:]
        self._answered(self, int(data[9:12]), data[head + 4 : end])

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self._answered(self, 0, b"")

    def close(self) -> None:
        self._answered = lambda *_: None
        if self._transport is not None:
            self._transport.close()


class _Tally:
    """Counts answers and errors; ``done`` is set once the last answer has arrived."""

    def __init__(self) -> None:
        self.latencies: list[float] = []
        self.errors = 0
        self.done = asyncio.Event()

    def add(self, latency: float, status: int) -> None:
        self.latencies.append(latency)
        if not 200 <= status < 300:
            self.errors += 1

    def load(self, seconds: float) -> Load:
        latency_ms = np.sort(np.asarray(self.latencies)) * 1e3
        return Load(len(self.latencies), self.errors, seconds, latency_ms)


async def _connect(
    host: str, port: int, n: int, answered: Callable[[_Connection, int, bytes], None]
) -> list[_Connection]:
    loop = asyncio.get_running_loop()
    pairs = [
        await loop.create_connection(lambda: _Connection(answered), host, port) for _ in range(n)
    ]
    return [connection for _, connection in pairs]


async def closed_loop(
    host: str, port: int, requests: Iterator[bytes], *, connections: int, seconds: float
) -> Load:
    """Keep ``connections`` requests in flight for ``seconds``: measures the sustainable rate."""
    tally, clock = _Tally(), time.perf_counter
    waiting = connections

    def answered(connection: _Connection, status: int, _body: bytes) -> None:
        nonlocal waiting
        now = clock()
        tally.add(now - connection.sent_at, status)
        if now < stop_at and not connection.lost:
            connection.send(next(requests), now)
            return
        waiting -= 1
        if not waiting:
            tally.done.set()

    opened = await _connect(host, port, connections, answered)
    started = clock()
    stop_at = started + seconds
    for connection in opened:
        connection.send(next(requests), clock())
    await asyncio.wait_for(tally.done.wait(), seconds + 30)
    elapsed = clock() - started
    for connection in opened:
        connection.close()
    return tally.load(elapsed)


async def open_loop(
    host: str,
    port: int,
    requests: Iterator[bytes],
    *,
    rate: float,
    seconds: float,
    connections: int = 64,
) -> Load:
    """Send ``rate`` requests a second, however slowly the answers come.

    A latency counts from the moment the request was due, so a stalled server cannot hide its queue.
    """
    tally, clock = _Tally(), time.perf_counter
    idle: deque[_Connection] = deque()
    due: deque[float] = deque()
    total = int(rate * seconds)

    def send_due() -> None:
        while due and idle:
            idle.popleft().send(next(requests), due.popleft())

    def answered(connection: _Connection, status: int, _body: bytes) -> None:
        tally.add(clock() - connection.sent_at, status)
        if not connection.lost:
            idle.append(connection)
        send_due()
        if len(tally.latencies) == total:
            tally.done.set()

    opened = await _connect(host, port, connections, answered)
    idle.extend(opened)
    started = clock()
    for index in range(total):
        at = started + index / rate
        if (pause := at - clock()) > 0:
            await asyncio.sleep(pause)
        due.append(at)
        send_due()
    await asyncio.wait_for(tally.done.wait(), 30)
    elapsed = clock() - started
    for connection in opened:
        connection.close()
    return tally.load(elapsed)


class Client:
    """One keep-alive connection for a script that needs the answers."""

    def __init__(self) -> None:
        self._next: asyncio.Future[Answer] | None = None
        self._connection = _Connection(self._answered)

    async def open(self, host: str, port: int) -> "Client":
        """Connect."""
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self._connection, host, port)
        return self

    def _answered(self, _connection: _Connection, status: int, body: bytes) -> None:
        if self._next is not None and not self._next.done():
            self._next.set_result(Answer(status, body))

    async def ask(self, packed: bytes) -> Answer:
        """Send one request and return its answer; status 0 means that the connection broke."""
        self._next = asyncio.get_running_loop().create_future()
        self._connection.send(packed, 0.0)
        return await self._next

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def main() -> None:
    """Request one path repeatedly with GET and print the rate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("path")
    parser.add_argument("--connections", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    requests = itertools.repeat(request("GET", options.path))
    load = uvloop.run(
        closed_loop(
            options.host,
            options.port,
            requests,
            connections=options.connections,
            seconds=options.seconds,
        )
    )
    print(
        f"{load.rate:.0f} requests/s, {load.errors} errors, "
        f"p50 {load.percentile(50):.2f} ms, p99 {load.percentile(99):.2f} ms"
    )


if __name__ == "__main__":
    main()
