"""The whole service under load for a long time: errors, memory, descriptors; then overload.

    python -m bench.soak [--minutes 30] [--json]

2 000 events a second arrive in arrays, 1 000 lists a second are asked for, and every two minutes a
training is ordered. Users and items stay the same and histories are short (HISTORY), so that what
is stored stops growing during the warm-up, the first fifth of the time. A process that grows
afterwards leaks. At the end the service is asked for lists as fast as it answers, and then for
three times as many, over 1 024 connections: what it still answers a second is its goodput.
"""

import argparse
import asyncio
import itertools
import json
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import uvloop

from bench import service
from bench.http_client import Client, Load, closed_loop, open_loop, request
from bench.report import Figure, publish

SECTION = "Soak"
USERS, ITEMS, GROUPS, HISTORY = 1_000, 2_000, 10, 200
EVENTS_PER_S, ROWS, READS_PER_S, RETRAIN_S = 2_000.0, 20, 1_000.0, 120.0
WARM_UP, LOOK_S = 0.2, 5.0
GROWTH, GOODPUT = 5.0, 80.0
OVERLOAD, OVERLOAD_S, CONNECTIONS, MANY = 3.0, 20.0, 64, 1_024
ROLES = ("api", "learner", "trainer", "serve")


class Look(NamedTuple):
    """What a process held at one moment."""

    kb: int
    descriptors: int


@dataclass
class Processes:
    """The processes of a service over time, those that were there all the time."""

    data_dir: Path
    looks: dict[str, list[Look]] = field(default_factory=lambda: defaultdict(list))

    async def watch(self) -> None:
        """Look at all processes every few seconds, until cancelled."""
        while True:
            for name, pid in self._pids().items():
                with suppress(OSError):
                    self.looks[name].append(_look(pid))
            await asyncio.sleep(LOOK_S)

    def _pids(self) -> Mapping[str, int]:
        store = json.loads((self.data_dir / "server.json").read_text())
        found, counts = {"store": int(store["pid"])}, Counter[str]()
        for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes().decode().split("\0")
                if str(self.data_dir) in _environment(folder) or str(self.data_dir) in words:
                    role = next((word for word in words if word in ROLES), None)
                    if role is not None:
                        counts[role] += 1
                        found[f"{role} {counts[role]}"] = int(folder.name)
        return found

    def figures(self) -> Iterator[Figure]:
        """Yield how much each process grew after the warm-up, and its descriptors."""
        most = max(map(len, self.looks.values()))
        for name, looks in sorted(self.looks.items()):
            if len(looks) < 0.9 * most:
                continue  # the process of one training
            steady = looks[int(WARM_UP * len(looks)) :]
            quarter = max(1, len(steady) // 4)
            kb = [statistics.median(look.kb for look in part) for part in _ends(steady, quarter)]
            held = [max(look.descriptors for look in part) for part in _ends(steady, quarter)]
            growth = 100 * (kb[1] / kb[0] - 1)
            note = f"{kb[0] / 1024:.0f} to {kb[1] / 1024:.0f} MB"
            yield Figure(SECTION, f"{name}: growth of memory", growth, "%", GROWTH, note=note)
            more = float(held[1] - held[0])
            yield Figure(SECTION, f"{name}: more descriptors", more, "", 2.0, note=f"{held[1]}")


def _ends(looks: Sequence[Look], n: int) -> tuple[Sequence[Look], Sequence[Look]]:
    return looks[:n], looks[-n:]


def _environment(folder: Path) -> str:
    return (folder / "environ").read_bytes().decode(errors="replace")


def _look(pid: int) -> Look:
    folder = Path("/proc") / str(pid)
    rollup = (folder / "smaps_rollup").read_text()
    # memory of its own: pages that processes share, such as mapped models, are counted once
    [kb] = [int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")]
    return Look(kb, sum(1 for _ in (folder / "fd").iterdir()))


def main() -> int:
    """Run the soak and publish its figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    # every training is one that was ordered; histories are full before the warm-up ends
    given = {"HEDGEROW_HISTORY_LIMIT": str(HISTORY), "HEDGEROW_RETRAIN_AFTER_EVENTS": "0"}
    with service.hedgerow(given) as server:
        figures = list(uvloop.run(_soaked(server, 60 * asked.minutes)))
    return publish(figures, as_json=asked.json, data="generated events")


async def _soaked(server: service.Server, seconds: float) -> list[Figure]:
    address = server.host, server.port
    processes = Processes(server.data_dir)
    watching = asyncio.create_task(processes.watch())
    ordering = asyncio.create_task(_order_trainings(server))
    writes, reads = await asyncio.gather(
        open_loop(*address, _events(), rate=EVENTS_PER_S / ROWS, seconds=seconds),
        open_loop(*address, _lists(), rate=READS_PER_S, seconds=seconds),
    )
    ended = await _trainings(server)
    watching.cancel()
    ordering.cancel()
    figures = [*_load(writes, "posts of 20 events"), *_load(reads, "lists")]
    figures += [Figure(SECTION, f"trainings {how}", float(n)) for how, n in ended.items()]
    return [*figures, *processes.figures(), *await _overloaded(server)]


def _load(load: Load, what: str) -> Iterator[Figure]:
    note = f"{load.requests} at {load.rate:.0f}/s, p50 {load.percentile(50):.2f} ms"
    yield Figure(SECTION, f"{what}: refused or failed", float(load.errors), "", 0.0, note=note)
    yield Figure(SECTION, f"{what}: p99", load.percentile(99), "ms")


async def _overloaded(server: service.Server) -> list[Figure]:
    """Return the goodput under three times the load that the service sustains."""
    address = server.host, server.port
    peak = await closed_loop(*address, _lists(), connections=CONNECTIONS, seconds=OVERLOAD_S)
    rate = OVERLOAD * peak.rate
    load = await open_loop(
        *address, _lists(), rate=rate, seconds=OVERLOAD_S / OVERLOAD, connections=MANY
    )
    goodput = 100 * load.rate / peak.rate
    note = f"{load.rate:.0f} of {peak.rate:.0f}/s; {load.errors} refused"
    figure = Figure(SECTION, "goodput at 3 times the peak", goodput, "%", GOODPUT, "higher", note)
    return [figure]


async def _order_trainings(server: service.Server) -> None:
    """Order a training now and then, until cancelled."""
    client = await Client().open(server.host, server.port)
    while True:
        await asyncio.sleep(RETRAIN_S)
        body = json.dumps({"model": "fbgd", "budget_s": 10}).encode()
        await client.ask(request("POST", "/v1/retrain", body))


async def _trainings(server: service.Server) -> Counter[str]:
    """Return how many trainings ended in which way."""
    client = await Client().open(server.host, server.port)
    answer = await client.ask(request("GET", "/v1/jobs?limit=500"))
    client.close()
    return Counter(job["status"] for job in json.loads(answer.body)["items"])


def _lists() -> Iterator[bytes]:
    users = np.random.default_rng(1).integers(0, USERS, 20_000).tolist()
    return itertools.cycle([request("GET", f"/v1/users/u{n}/recommendations") for n in users])


def _events() -> Iterator[bytes]:
    """Yield posts without end: users like the items of their group most of the time."""
    rng = np.random.default_rng(2)
    posts = [_post(rng) for _ in range(5_000)]
    return itertools.cycle(posts)


def _post(rng: np.random.Generator) -> bytes:
    users = rng.integers(0, USERS, ROWS)
    of_group = rng.integers(0, ITEMS // GROUPS, ROWS) * GROUPS + users % GROUPS
    items = np.where(rng.random(ROWS) < 0.8, of_group, rng.integers(0, ITEMS, ROWS))
    rows = [
        {"user": f"u{user}", "item": f"i{item}"}
        | ({"rating": int(rng.integers(3, 6))} if rng.random() < 0.2 else {"kind": "view"})
        for user, item in zip(users.tolist(), items.tolist(), strict=True)
    ]
    return request("POST", "/v1/events", json.dumps(rows).encode())


if __name__ == "__main__":
    sys.exit(main())
