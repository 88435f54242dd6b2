"""NDJSON uploads into the whole service until they are fsynced and learned.

Another client pings the service's Redis server meanwhile, to show how long uploads block it.
"""

import contextlib
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from bench import service
from bench.data import Ratings
from bench.report import Figure
from bench.store import KEYS, LEARN_S, event_number, socket_of, store, wait_until_learned

SECTION = "End to end: ingest"


def ndjson(ratings: Ratings) -> bytes:
    """Return one line per rating, in the format of `hedgerow import` and most clients."""
    users, items = ratings.user_ids, ratings.item_ids
    columns = (ratings.user.tolist(), ratings.item.tolist(), ratings.rating.tolist())
    return "".join(
        f'{{"user":"{users[user]}","item":"{items[item]}","rating":{rating:g}}}\n'
        for user, item, rating in zip(*columns, strict=True)
    ).encode()


@dataclass(frozen=True)
class Ingest:
    """One upload; both times count from its first byte."""

    rows: int
    answered_s: float
    learned_s: float

    @property
    def rate(self) -> float:
        """Ratings fsynced and learned per second."""
        return self.rows / self.learned_s


def upload(server: service.Server, lines: bytes, rows: int, key: str | None = None) -> Ingest:
    """Stream the lines into an empty service and wait until all of them are learned."""
    headers = {"content-type": "application/x-ndjson"}
    if key is not None:
        headers["idempotency-key"] = key
    with store(server) as connection:
        client = http.client.HTTPConnection(server.host, server.port, timeout=LEARN_S)
        client.connect()
        started = time.perf_counter()
        client.request("POST", "/v1/ratings/stream", body=lines, headers=headers)
        response = client.getresponse()
        summary = json.loads(response.read())
        answered_s = time.perf_counter() - started
        client.close()
        if response.status >= 300 or summary["accepted"] != rows:
            raise RuntimeError(f"{response.status}: {str(summary)[:1000]}")
        last = event_number(summary["sequence"])
        wait_until_learned(connection, last)
        learned_s = time.perf_counter() - started
        learned = int(connection.hget(KEYS.state, "learned") or 0)
        if (last, learned) != (rows, rows):
            raise RuntimeError(f"{rows} rows became {last} events, {learned} were learned")
        return Ingest(rows, answered_s, learned_s)


@contextlib.contextmanager
def pinged(server: service.Server) -> Iterator[dict[str, float]]:
    """Run ``bench.ping`` around the block; the yielded summary is filled in when the block ends."""
    command = [sys.executable, "-m", "bench.ping", socket_of(server)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None  # noqa: S101
        process.stdout.readline()
        summary: dict[str, float] = {}
        yield summary
        output, _ = process.communicate()
        summary.update(json.loads(output))


@dataclass(frozen=True)
class IngestRun:
    """One upload into an empty service, and the latencies of another client of its Redis server."""

    ingest: Ingest
    ping: dict[str, float]


def ingest_run(lines: bytes, rows: int, key: str | None = None) -> IngestRun:
    """Start the service, upload, stop the service."""
    with service.hedgerow() as server, pinged(server) as ping:
        ingest = upload(server, lines, rows, key)
    return IngestRun(ingest, ping)


def figures(ratings: Ratings, *, quick: bool) -> list[Figure]:
    """Measure uploads in file order, shuffled, and with an idempotency key, alternating."""
    rows, rounds = len(ratings), 1 if quick else 3
    in_order = ndjson(ratings)
    shuffled = ndjson(ratings.rows(np.random.default_rng(0).permutation(rows)))
    runs = [
        (
            ingest_run(in_order, rows),
            ingest_run(shuffled, rows),
            ingest_run(in_order, rows, key="bench"),
        )
        for _ in range(rounds)
    ]
    plain, random, keyed = (
        median(run.ingest.rate for run in kind) for kind in zip(*runs, strict=True)
    )
    answered = median(kinds[0].ingest.rows / kinds[0].ingest.answered_s for kinds in runs)
    per_s = "ratings/s"
    return [
        Figure(
            SECTION, "NDJSON in file order, fsynced and learned", plain, per_s, 300_000, "higher"
        ),
        Figure(SECTION, "the same until the answer (fsynced)", answered, per_s),
        Figure(SECTION, "NDJSON in random order, fsynced and learned", random, per_s),
        Figure(SECTION, "NDJSON in file order under an Idempotency-Key", keyed, per_s),
        *(
            _ping_figure(name, kind)
            for name, kind in zip(_KINDS, zip(*runs, strict=True), strict=True)
        ),
    ]


_KINDS = ("file order", "random order", "file order under a key")


def _ping_figure(name: str, runs: Sequence[IngestRun]) -> Figure:
    """Return the longest PING of all uploads of one kind; a median would hide the blocking."""
    return Figure(
        SECTION,
        f"longest PING of another client of the server, {name}",
        max(run.ping["longest_ms"] for run in runs),
        "ms",
        25.0,
        note=f"{len(runs)} uploads, p99 {max(run.ping['p99_ms'] for run in runs):.2f} ms",
    )
