"""Memory and rollout time of a model of a million items in four api processes and the learner.

    python -m bench.snapshots [--items 1000000] [--json]

Memory is the proportional set size: a page mapped by n processes counts 1/n in each, so four copies
would show as four. Linux only. The longest PING shows how long other clients of the store wait
while the model is published.
"""

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from bench import service
from bench.ingest import pinged
from bench.report import Figure, publish
from bench.store import socket_of
from core.batch.row_objective import RowObjective
from core.batch.snapshot import of_objective
from core.snapshot import Snapshot
from service.store.connection import connect
from service.store.models.records import ModelRecord
from service.store.models.registry import Registry

SECTION = "Models in memory"
PROCESSES, FACTORS = 5, 64
MB = 1e6
WAIT_S, SETTLE_S = 60.0, 3.0

T = TypeVar("T")


@dataclass(frozen=True)
class Memory:
    """Memory of all processes together, in bytes."""

    proportional: int
    own: int
    """Anonymous pages, which no other process shares."""


def main() -> int:
    """Publish, activate and measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.snapshots", description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000, help="items of the model")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    options = parser.parse_args()
    if not Path("/proc/self/smaps_rollup").exists():
        sys.exit("this system does not report shared memory; run this bench on Linux")
    figures = measured(options.items)
    return publish(figures, as_json=options.json, data=f"{options.items} items x {FACTORS}")


def measured(n_items: int) -> list[Figure]:
    """Return the cost of one model, and of replacing it by another."""
    first, second = model(n_items, 1), model(n_items, 2)
    with (
        service.hedgerow({"HEDGEROW_API_PROCESSES": str(PROCESSES - 1)}) as server,
        connect(f"unix://{socket_of(server)}", role="bench") as client,
    ):
        settle()
        pids = processes(server)
        before = memory(pids)
        registry = Registry(client, "main")
        with pinged(server) as ping:
            published, record = timed(lambda: put(registry, first))
        swapped, _ = timed(lambda: activate(registry, record, server))
        settle()
        after = memory(pids)
        activate(registry, put(registry, second), server)
        settle()
        later = memory(pids)
    size = record.bytes / MB
    grown, added = (
        (after.proportional - before.proportional) / MB,
        (later.proportional - after.proportional) / MB,
    )
    own = (after.own - before.own) / MB
    serve = f"from its promotion until {PROCESSES} processes use it"
    grow = f"memory that {PROCESSES} processes grow by"
    copies = f"{grown / size:.2f} copies of {size:.0f} MB"
    given_back = "the one before is given back"
    longest, p99 = ping["longest_ms"], f"p99 {ping['p99_ms']:.2f} ms"
    return [
        Figure(SECTION, "publish the model", published, "s", note=f"{size:.0f} MB"),
        Figure(SECTION, "longest PING meanwhile", longest, "ms", note=p99),
        Figure(SECTION, serve, swapped, "s"),
        Figure(SECTION, grow, grown, "MB", bar=1.1 * size, note=copies),
        Figure(SECTION, "of it not shared", own, "MB"),
        Figure(
            SECTION, "memory that the next model adds", added, "MB", 0.1 * size, note=given_back
        ),
    ]


def model(n_items: int, seed: int) -> Snapshot:
    """Return a model of random item factors in the layout of a fit, without eigenvectors."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n_items, FACTORS), np.float32)
    negative = np.full(n_items, 0.01, np.float32)
    gram = np.einsum("ij,ij->j", factors, factors) * np.float32(0.01)
    row = RowObjective(factors, gram, factors.sum(0) * np.float32(0.01), negative, 0.0, 1.0, 0.0, 1)
    return of_objective("fbgd", row, settings={}, metrics={}, cuts={"trained_through": {"0": 0}})


def put(registry: Registry, made: Snapshot) -> ModelRecord:
    """Publish a model."""
    decision = {"outcome": "promoted", "reason": "bench"}
    record = ModelRecord.of(made, "fbgd", created_ms=time.time_ns() // 10**6, decision=decision)
    registry.publish(made, record)
    return record


def activate(registry: Registry, record: ModelRecord, server: service.Server) -> None:
    """Activate the model and wait until every process reports that it uses it."""
    expected = registry.active().get("fbgd")
    registry.set_active("fbgd", record.version, expected=expected, who="bench", why="")
    pause = threading.Event()
    for _ in range(int(WAIT_S / 0.01)):
        events = logged(server, "model_activated")
        if sum(event["version"] == record.version for event in events) == PROCESSES:
            return
        pause.wait(0.01)
    raise RuntimeError(f"not all processes served the model within {WAIT_S:.0f} s")


def settle() -> None:
    """Give every process time to warm up, or to release the previous model."""
    threading.Event().wait(SETTLE_S)


def processes(server: service.Server) -> list[int]:
    """Return the process ids of the api and of the learner, which also holds models."""
    started = logged(server, "child_started")
    return [
        int(event["pid"]) for event in started if event["child"].startswith(("api-", "learner"))
    ]


def logged(server: service.Server, name: str) -> list[dict[str, str]]:
    """Return the events of the given name in the service's log."""
    lines = (server.data_dir / "bench.log").read_text().splitlines()
    events = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
    return [event for event in events if event["event"] == name]


def memory(pids: list[int]) -> Memory:
    """Return the memory of the processes, added up."""
    total = {"Pss": 0, "Pss_Anon": 0}
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in total:
                total[name] += int(rest.split()[0]) * 1024
    return Memory(total["Pss"], total["Pss_Anon"])


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds that a call takes, and its result."""
    started = time.perf_counter()
    answer = call()
    return time.perf_counter() - started, answer


if __name__ == "__main__":
    sys.exit(main())
