"""Single ratings over HTTP: how many a second, and how soon a prediction has learned from one."""

import asyncio
import itertools
import json
import time
from urllib.parse import quote

import numpy as np
import uvloop

from bench import service
from bench.data import Ratings
from bench.http_client import Client, Load, closed_loop, open_loop, request
from bench.ingest import ndjson, upload
from bench.report import Figure
from bench.store import event_number
from core.types import F64

SECTION = "End to end: single ratings"


def rating_bodies(ratings: Ratings, n: int = 50_000) -> list[bytes]:
    """Return bodies of single ratings, shuffled: neighbours in time are rarely of one user."""
    rows = np.random.default_rng(1).permutation(len(ratings))[:n]
    return ndjson(ratings.rows(rows)).splitlines()


def post_rates(
    ratings: Ratings, *, connections: int, seconds: float, rounds: int
) -> tuple[Load, Load, float]:
    """Alternate between the empty app and the service; return one load of each and the median ratio."""
    bodies = rating_bodies(ratings)
    empty_requests = itertools.cycle([request("POST", "/ratings", body) for body in bodies])
    our_requests = itertools.cycle([request("POST", "/v1/ratings", body) for body in bodies])
    pairs = []
    with service.empty_app() as empty, service.hedgerow() as ours:
        for _ in range(rounds):
            pair = []
            for server, requests in ((empty, empty_requests), (ours, our_requests)):
                run = closed_loop(
                    server.host, server.port, requests, connections=connections, seconds=seconds
                )
                pair.append(uvloop.run(run))
            pairs.append(pair)
    middle = sorted(pairs, key=lambda pair: pair[1].rate / pair[0].rate)[len(pairs) // 2]
    errors = sum(load.errors for pair in pairs for load in pair)
    return middle[0], middle[1], float(errors)


async def _changed_after(
    client: Client, server: service.Server, user: str, item: str, rating: float
) -> float | None:
    """Post a rating; return the ms from its acknowledgement until a prediction has changed by it."""
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
    """Return what learning changes: the rating alone may stay at an end of the scale."""
    return tuple(prediction[name] for name in ("rating", "low", "high", "experts"))


async def _probe(
    server: service.Server, ratings: Ratings, seconds: float
) -> tuple[list[float], int]:
    """Probe again and again; return the times and how many predictions did not change in 5 s."""
    client = await Client().open(server.host, server.port)
    taken, unchanged = [], 0
    deadline = time.perf_counter() + seconds
    draw = np.random.default_rng(2)
    while time.perf_counter() < deadline:
        row = int(draw.integers(len(ratings)))
        user = ratings.user_ids[ratings.user[row]]
        item = ratings.item_ids[ratings.item[row]]
        one = await _changed_after(client, server, user, item, float(ratings.rating[row]))
        if one is None:
            unchanged += 1
        else:
            taken.append(one)
        await asyncio.sleep(float(draw.uniform(0.002, 0.02)))  # not in step with the commits
    client.close()
    return taken, unchanged


async def changed_predictions(
    server: service.Server, ratings: Ratings, *, rate: float, seconds: float
) -> tuple[F64, int, Load]:
    """Measure acknowledgement to changed prediction while ``rate`` ratings a second arrive."""
    requests = itertools.cycle(
        [request("POST", "/v1/ratings", body) for body in rating_bodies(ratings)]
    )
    background = open_loop(server.host, server.port, requests, rate=rate, seconds=seconds)
    load, (taken, unchanged) = await asyncio.gather(background, _probe(server, ratings, seconds))
    return np.sort(np.array(taken)), unchanged, load


def figures(ratings: Ratings, *, quick: bool) -> list[Figure]:
    """Measure single POSTs at 256 connections and the way from a rating to a changed prediction."""
    rounds, seconds = (1, 3.0) if quick else (5, 5.0)
    empty, ours, errors = post_rates(ratings, connections=256, seconds=seconds, rounds=rounds)
    few_empty, few_ours, few_errors = post_rates(
        ratings, connections=32, seconds=seconds, rounds=1 if quick else 3
    )
    with service.hedgerow() as server:
        history = ratings.rows(np.arange(min(len(ratings), 100_000)))
        upload(server, ndjson(history), len(history))
        taken, unchanged, load = uvloop.run(
            changed_predictions(server, history, rate=500.0, seconds=5.0 if quick else 30.0)
        )
    p50, p99 = (float(np.percentile(taken, q)) for q in (50, 99))
    note = f"{len(taken)} probes, {unchanged} unchanged, longest {taken[-1]:.1f} ms"
    percent = 100 * ours.rate / empty.rate
    return [
        Figure(SECTION, "empty validated POST, 256 connections", empty.rate, "/s"),
        Figure(
            SECTION,
            "POST /v1/ratings, fsynced, 256 connections",
            ours.rate,
            "/s",
            note=f"p50 {ours.percentile(50):.1f} ms, p99 {ours.percentile(99):.1f} ms",
        ),
        Figure(SECTION, "share of the empty POST, 256 connections", percent, "%", 60.0, "higher"),
        Figure(SECTION, "errors", errors + few_errors, "", 0.0),
        Figure(
            SECTION,
            "share of the empty POST, 32 connections",
            100 * few_ours.rate / few_empty.rate,
            "%",
            note=f"{few_ours.rate:.0f} of {few_empty.rate:.0f} /s",
        ),
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
            note=f"p50 {load.percentile(50):.2f} ms, {load.errors} errors",
        ),
    ]
