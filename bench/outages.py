"""What clients feel while the store is away: reads of cached users and popular lists, and writes.

    python -m bench.outages [--seconds 30]

The store of a real `hedgerow serve` is stopped (SIGSTOP) or killed (SIGKILL). Percentiles are of
all requests that were due from a second before the fault to its end. `within` is the share that was
answered in time: reads within 100 ms, writes within 250 ms. `back after`: how long after the fault
a write was accepted again. The row `none` says what the machine itself does.
"""

import argparse
import asyncio
import itertools
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvloop

from bench.http_client import Client, Load, open_loop, request
from bench.service import Server, hedgerow

USERS, ITEMS = 50, 200
READS_PER_S, WRITES_PER_S = 200.0, 40.0
BEFORE_S = 1.0
"""Seconds of load before the fault: requests are under way when it comes."""


def main() -> None:
    """Print one row for each fault and kind of request."""
    parser = argparse.ArgumentParser(prog="python -m bench.outages", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    seconds = parser.parse_args().seconds
    columns = "fault|request|requests|not 2xx|within|p50 ms|p99 ms|longest ms|back after"
    print(f"|{columns}|\n|---|---|{'---:|' * 7}")
    for name, fault in FAULTS.items():
        with hedgerow() as server:
            uvloop.run(_measured(server, name, fault, seconds))


@contextmanager
def _none(_: Server) -> Iterator[None]:
    yield


@contextmanager
def _stopped(server: Server) -> Iterator[None]:
    pid = _store_pid(server)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def _killed(server: Server) -> Iterator[None]:
    with suppress(ProcessLookupError):
        os.kill(_store_pid(server), signal.SIGKILL)
    yield


Fault = Callable[[Server], "contextmanager[None]"]
FAULTS = {"none": _none, "stopped": _stopped, "killed": _killed}


async def _measured(server: Server, name: str, fault: Fault, seconds: float) -> None:
    await _fill(server)
    reads = [request("GET", f"/v1/users/u{n}/recommendations") for n in range(USERS)]
    popular = [request("GET", f"/v1/{route}") for route in ("popular", "trending", "latest")]
    # of others: whoever has just done something is read anew
    writes = [_write(f"w{n}", f"i{n}") for n in range(USERS)]
    for warm in [*reads, *popular]:
        await _ask(server, warm)
    kinds = {
        "recommendations": (reads, READS_PER_S),
        "popular, trending, latest": (popular, READS_PER_S),
        "POST /v1/events": (writes, WRITES_PER_S),
    }
    load = asyncio.gather(*(_load(server, *kind, BEFORE_S + seconds) for kind in kinds.values()))
    await asyncio.sleep(BEFORE_S)
    with fault(server):
        await asyncio.sleep(seconds)
    ended = time.perf_counter()
    loads = await load
    while (await _ask(server, writes[0])) != 202:
        pass
    back = time.perf_counter() - ended
    for kind, one in zip(kinds, loads, strict=True):
        within = (one.latency_ms <= (250.0 if kind.startswith("POST") else 100.0)).mean()
        p50, p99, longest = (one.percentile(q) for q in (50, 99, 100))
        print(
            f"|{name}|{kind}|{one.requests}|{one.errors}|{within:.2%}|{p50:.1f}|{p99:.1f}"
            f"|{longest:.1f}|{back:.2f} s|",
            flush=True,
        )


async def _load(server: Server, requests: list[bytes], rate: float, seconds: float) -> Load:
    return await open_loop(
        server.host, server.port, itertools.cycle(requests), rate=rate, seconds=seconds
    )


async def _fill(server: Server) -> None:
    events = [
        {"user": f"u{n % USERS}", "item": f"i{n * 7 % ITEMS}", "rating": 1 + n % 5}
        for n in range(4 * ITEMS)
    ]
    packed = json.dumps(events).encode()
    client = await Client().open(server.host, server.port)
    if (await client.ask(request("POST", "/v1/events", packed))).status != 202:
        raise RuntimeError("the service does not take the events that users need")
    client.close()
    # popular items are read every other second
    await asyncio.sleep(4.0)


def _write(user: str, item: str) -> bytes:
    return request(
        "POST", "/v1/events", json.dumps({"user": user, "item": item, "rating": 3}).encode()
    )


async def _ask(server: Server, packed: bytes) -> int:
    client = await Client().open(server.host, server.port)
    answer = await client.ask(packed)
    client.close()
    return answer.status


def _store_pid(server: Server) -> int:
    return int(json.loads((server.data_dir / "server.json").read_text())["pid"])


if __name__ == "__main__":
    main()
