"""Single ratings over HTTP: the sustained rate, and the delay until a prediction reflects one."""

import asyncio
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

import numpy as np
import uvloop

from bench import service
from bench.data import Ratings
from bench.http_client import Client, Load, closed_loop, open_loop, request
from bench.ingest import ndjson, upload
from bench.report import Figure
from bench.store import KEYS, event_number, store, watermark
from core.types import F64

SECTION = "End to end: single ratings"


def rating_bodies(ratings: Ratings, n: int = 50_000) -> list[bytes]:
    """Return bodies of single ratings, shuffled so that neighbours are rarely of the same user."""
    rows = np.random.default_rng(1).permutation(len(ratings))[:n]
    return ndjson(ratings.rows(rows)).splitlines()


@dataclass(frozen=True)
class Rounds:
    """Rounds of one load, each on the empty app and then on the service."""

    pairs: tuple[tuple[Load, Load], ...]
    behind: int
    """Acknowledged ratings that were not yet learned when the last round ended."""

    @property
    def ratios(self) -> list[float]:
        """Our rate as a share of the empty app's, in percent, sorted."""
        return sorted(100 * ours.rate / empty.rate for empty, ours in self.pairs)

    @property
    def middle(self) -> tuple[Load, Load]:
        """The round with the median ratio."""
        by_ratio = sorted(self.pairs, key=lambda pair: pair[1].rate / pair[0].rate)
        return by_ratio[len(by_ratio) // 2]

    @property
    def errors(self) -> int:
        """Failed requests of the empty app and the service, in all rounds."""
        return sum(load.errors for pair in self.pairs for load in pair)


def post_rates(ratings: Ratings, *, connections: int, seconds: float, rounds: int) -> Rounds:
    """Alternate between the empty app and the service."""
    bodies = rating_bodies(ratings)
    empty_requests = itertools.cycle([request("POST", "/ratings", body) for body in bodies])
    our_requests = itertools.cycle([request("POST", "/v1/ratings", body) for body in bodies])

    def load(server: service.Server, requests: Iterator[bytes]) -> Load:
        run = closed_loop(
            server.host, server.port, requests, connections=connections, seconds=seconds
        )
        return uvloop.run(run)

    with service.empty_app() as empty, service.hedgerow() as ours, store(ours) as connection:
        pairs = tuple(
            (load(empty, empty_requests), load(ours, our_requests)) for _ in range(rounds)
        )
        learned, stored = watermark(connection), int(connection.get(KEYS.sequence) or 0)
    acknowledged = sum(ours.requests - ours.errors for _, ours in pairs)
    if stored < acknowledged:
        raise RuntimeError(f"{acknowledged} ratings were acknowledged, {stored} are stored")
    return Rounds(pairs, stored - learned)


async def _changed_after(
    client: Client, server: service.Server, user: str, item: str, rating: float
) -> float | None:
    """Post a rating; return the ms from its acknowledgement until a prediction changes.

    Returns None if none changed within 5 s.
    """
    path = f"/v1/users/{quote(user, safe='')}/predictions/{quote(item, safe='')}"
    read = request("GET", path)
    before = _numbers(json.loads((await client.ask(read)).body))
    body = json.dumps({"user": user, "item": item, "rating": rating}).encode()
    answer = await client.ask(request("POST", "/v1/ratings", body))
    acknowledged = time.perf_counter()
    sequence = event_number(json.loads(answer.body)["sequence"])
    while time.perf_counter() - acknowledged < 5.0:
        prediction = json.loads((await client.ask(read)).body)
        seen = event_number(prediction["seen_through"])
        if seen >= sequence and _numbers(prediction) != before:
            return (time.perf_counter() - acknowledged) * 1e3
    return None


def _numbers(prediction: dict[str, object]) -> tuple[object, ...]:
    """Return all fields that learning changes: ``rating`` alone may stay clipped to the scale."""
    return tuple(prediction[name] for name in ("rating", "low", "high", "experts"))


async def _probe(
    server: service.Server, ratings: Ratings, seconds: float
) -> tuple[list[float], int]:
    """Probe for ``seconds``.

    Returns the times in ms, and how many predictions did not change within 5 s.
    """
    client = await Client().open(server.host, server.port)
    taken, unchanged = [], 0
    deadline = time.perf_counter() + seconds
    draw = np.random.default_rng(2)
    while time.perf_counter() < deadline:
        row = int(draw.integers(len(ratings)))
        user = ratings.user_ids[ratings.user[row]]
        item = ratings.item_ids[ratings.item[row]]
        taken_ms = await _changed_after(client, server, user, item, float(ratings.rating[row]))
        if taken_ms is None:
            unchanged += 1
        else:
            taken.append(taken_ms)
        await asyncio.sleep(float(draw.uniform(0.002, 0.02)))  # not in step with commits
    client.close()
    return taken, unchanged


async def changed_predictions(
    server: service.Server, ratings: Ratings, *, rate: float, seconds: float
) -> tuple[F64, int, Load]:
    """Measure from acknowledgement to changed prediction while ``rate`` ratings a second arrive."""
    requests = itertools.cycle(
        [request("POST", "/v1/ratings", body) for body in rating_bodies(ratings)]
    )
    background = open_loop(server.host, server.port, requests, rate=rate, seconds=seconds)
    load, (taken, unchanged) = await asyncio.gather(background, _probe(server, ratings, seconds))
    return np.sort(np.array(taken)), unchanged, load


def figures(ratings: Ratings, *, quick: bool) -> list[Figure]:
    """Measure POSTs of single ratings, and the time until a prediction reflects one."""
    rounds, seconds = (1, 3.0) if quick else (5, 5.0)
    many = post_rates(ratings, connections=256, seconds=seconds, rounds=rounds)
    few = post_rates(ratings, connections=32, seconds=seconds, rounds=rounds)
    with service.hedgerow() as server:
        history = ratings.rows(np.arange(min(len(ratings), 100_000)))
        upload(server, ndjson(history), len(history))
        taken, unchanged, load = uvloop.run(
            changed_predictions(server, history, rate=500.0, seconds=5.0 if quick else 30.0)
        )
    p50, p99 = (float(np.percentile(taken, q)) for q in (50, 99))
    note = f"{len(taken)} probes, {unchanged} unchanged, longest {taken[-1]:.1f} ms"
    errors = many.errors + few.errors + load.errors
    return [
        *_rate_figures("256 connections", many, bar=60.0),
        *_rate_figures("32 connections", few, bar=None),
        Figure(SECTION, "errors in all of these", float(errors), "", 0.0),
        Figure(
            SECTION, "acknowledged -> changed prediction, 500 ratings/s, p50", p50, "ms", note=note
        ),
        Figure(SECTION, "acknowledged -> changed prediction, 500 ratings/s, p99", p99, "ms", 10.0),
        Figure(SECTION, "predictions that did not change within 5 s", float(unchanged), "", 0.0),
        Figure(
            SECTION,
            "acknowledgement of a rating at 500/s, p99",
            load.percentile(99),
            "ms",
            note=f"p50 {load.percentile(50):.2f} ms",
        ),
    ]


def _rate_figures(name: str, rounds: Rounds, bar: float | None) -> list[Figure]:
    empty, ours = rounds.middle
    low, high = rounds.ratios[0], rounds.ratios[-1]

    def rate(what: str, load: Load) -> Figure:
        note = f"p50 {load.percentile(50):.1f} ms, p99 {load.percentile(99):.1f} ms"
        return Figure(SECTION, f"{what}, {name}", load.rate, "/s", note=note)

    note = (
        f"{len(rounds.pairs)} rounds, {low:.0f} to {high:.0f} %; {rounds.behind} behind at the end"
    )
    percent = 100 * ours.rate / empty.rate
    return [
        rate("empty validated POST", empty),
        rate("POST /v1/ratings, fsynced", ours),
        Figure(SECTION, f"share of the empty POST, {name}", percent, "%", bar, "higher", note),
    ]
