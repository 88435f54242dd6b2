"""Recommendations over HTTP: rates with a warm cache and without one, latencies, a million items.

    python -m bench.slates [--quick] [--json]

MovieLens 1M is imported and a model of 64 factors published. Requests are for users drawn
uniformly, while 200 ratings a second arrive; one api process, k = 10, history excluded. The rates
are compared with an empty GET of an application without middleware under the same server flags,
measured alternately.
"""

import argparse
import asyncio
import itertools
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import numpy as np
import uvloop

from bench import data, service
from bench.data import Ratings
from bench.http_client import Client, Load, closed_loop, open_loop, request
from bench.ingest import ndjson, upload
from bench.posts import rating_bodies
from bench.report import Figure, publish
from bench.store import socket_of, store
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.row_objective import RowObjective, diagonalised
from core.batch.snapshot import of_objective
from core.interactions import from_pairs
from service.cli.clients.watching import watch
from service.client import ServiceClient
from service.store.connection import connect
from service.store.keys import NamespaceKeys
from service.store.models.records import ModelRecord
from service.store.models.registry import Registry

SECTION = "Recommendations"
EVERY = "every family"
"""The default mixture after a training of all families, ranked by their stack."""
FACTORS, CONNECTIONS, ARRIVING = 64, 32, 200.0
MANY_ITEMS = 1_000_000


def publish_model(server: service.Server, objective: RowObjective) -> str:
    """Publish and activate a model, as the trainer would; return its version."""
    through = {"0": 0}
    made = of_objective(
        "fbgd", objective, settings={}, metrics={}, cuts={"trained_through": through}
    )
    with connect(f"unix://{socket_of(server)}", role="bench") as client:
        registry = Registry(client, "main")
        decision = {"outcome": "promoted", "reason": "bench"}
        record = ModelRecord.of(made, "fbgd", created_ms=1, decision=decision)
        registry.publish(made, record)
        registry.set_active("fbgd", record.version, expected=None, who="bench", why="bench")
    return record.version


def fitted(server: service.Server, ratings: Ratings) -> RowObjective:
    """Fit the ratings of at least 4, using the item numbers that the service assigned."""
    with store(server) as connection:
        ids = connection.lrange(NamespaceKeys("main").item_ids, 0, -1)
    numbers = {item.decode(): number for number, item in enumerate(ids)}
    by_item = np.array([numbers.get(item, -1) for item in ratings.item_ids])
    liked = ratings.rating >= 4
    pairs = from_pairs(ratings.user[liked], by_item[ratings.item[liked]], n_items=len(ids))
    return Fbgd(FbgdConfig(factors=FACTORS, epochs=4)).fit(pairs).fitted


async def serving(server: service.Server, path: str, version: str) -> None:
    """Wait until the answers at ``path`` come from the given model version."""
    client = await Client().open(server.host, server.port)
    async with asyncio.timeout(60):
        while json.loads((await client.ask(request("GET", path))).body)["model_version"] != version:  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # polls, because HTTP gives no other sign
    client.close()


def paths(users: Sequence[str], n: int, more: str) -> list[bytes]:
    """Return n requests for users drawn uniformly."""
    drawn = np.random.default_rng(3).integers(0, len(users), n)
    names = [quote(users[at], safe="") for at in drawn.tolist()]
    return [request("GET", f"/v1/users/{name}/recommendations?k=10{more}") for name in names]


@dataclass(frozen=True)
class Measured:
    """Rounds of one kind of request."""

    name: str
    pairs: tuple[tuple[Load, Load], ...]
    half: Load
    """Load at half the sustained rate."""

    @property
    def middle(self) -> tuple[Load, Load]:
        """The round with the median ratio."""
        by_ratio = sorted(self.pairs, key=lambda pair: pair[1].rate / pair[0].rate)
        return by_ratio[len(by_ratio) // 2]

    def figures(self, bar: float) -> Iterator[Figure]:
        """Yield the rates, their ratio, and the latency at half the sustained rate."""
        empty, ours = self.middle
        ratios = sorted(100 * ours.rate / empty.rate for empty, ours in self.pairs)
        errors = sum(load.errors for pair in self.pairs for load in pair) + self.half.errors
        note = f"{len(ratios)} rounds, {ratios[0]:.0f} to {ratios[-1]:.0f} %; {errors} errors"
        yield Figure(SECTION, f"{self.name}: empty GET", empty.rate, "/s")
        yield Figure(
            SECTION, f"{self.name}: ours", ours.rate, "/s", note=f"p99 {ours.percentile(99):.1f} ms"
        )
        share = 100 * ours.rate / empty.rate
        yield Figure(
            SECTION, f"{self.name}: share of the empty GET", share, "%", bar, "higher", note
        )
        half = self.half
        note = f"{half.rate:.0f}/s, p50 {half.percentile(50):.2f} ms"
        yield Figure(
            SECTION,
            f"{self.name}: p99 at half that load",
            half.percentile(99),
            "ms",
            10.0,
            note=note,
        )


async def _beside_ratings(
    server: service.Server, load: "asyncio.Future[Load]", bodies: Iterator[bytes], seconds: float
) -> Load:
    arriving = open_loop(server.host, server.port, bodies, rate=ARRIVING, seconds=seconds)
    _, measured = await asyncio.gather(arriving, load)
    return measured


def measured(
    name: str,
    ratings: Ratings,
    environment: dict[str, str],
    *,
    more: str,
    rounds: int,
    seconds: float,
) -> Measured:
    """Alternate between the empty app and the service."""
    bodies = itertools.cycle([request("POST", "/v1/ratings", b) for b in rating_bodies(ratings)])
    ours_requests = itertools.cycle(paths(ratings.user_ids, 60_000, more))
    empty_requests = itertools.repeat(request("GET", "/"))
    with service.empty_app() as empty, service.hedgerow(environment) as ours:
        upload(ours, ndjson(ratings), len(ratings))
        if name == EVERY:
            train_every_family(ours, ratings)
        else:
            version = publish_model(ours, fitted(ours, ratings))
            path = f"/v1/users/{ratings.user_ids[0]}/recommendations?model=fbgd"
            uvloop.run(serving(ours, path, version))

        def load(server: service.Server, requests: Iterator[bytes], seconds: float) -> Load:
            run = closed_loop(
                server.host, server.port, requests, connections=CONNECTIONS, seconds=seconds
            )
            return uvloop.run(
                run if server is empty else _beside_ratings(ours, run, bodies, seconds)
            )

        load(ours, ours_requests, 2 * seconds)
        pairs = tuple(
            (load(empty, empty_requests, seconds), load(ours, ours_requests, seconds))
            for _ in range(rounds)
        )
        half = sorted(pair[1].rate for pair in pairs)[rounds // 2] / 2
        calm = open_loop(ours.host, ours.port, ours_requests, rate=half, seconds=seconds)
        return Measured(name, pairs, uvloop.run(_beside_ratings(ours, calm, bodies, seconds)))


def train_every_family(server: service.Server, ratings: Ratings) -> None:
    """Train what is worth training, and wait until its stack ranks."""
    path = f"/v1/users/{ratings.user_ids[0]}/recommendations"
    with ServiceClient(f"http://{server.host}:{server.port}") as client:
        job = watch(client, client.post("/v1/retrain", {"budget_s": 60.0}))
        if job["status"] != "succeeded":
            sys.exit(f"the training did not succeed: {job['reason']}")
        for _ in range(300):
            answer = client.get(path)
            if answer["score_kind"] == "probability":
                sys.stderr.write(f"ranked by {sorted(answer['models'])}\n")
                return
            threading.Event().wait(0.1)
    sys.exit("the stack does not rank")


def many_items(ratings: Ratings, *, seconds: float) -> Iterator[Figure]:
    """Measure ranking among a million items, most of them unrated."""
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(MANY_ITEMS, FACTORS)).astype(np.float32) / FACTORS
    row = diagonalised(
        drawn,
        np.full(MANY_ITEMS, 0.01, np.float32),
        negative_target=0.0,
        reg=5.0,
        nu=0.5,
        mean_count=100.0,
    )
    part = ratings.rows(np.arange(50_000))
    with service.hedgerow() as ours:
        upload(ours, ndjson(part), len(part))
        with store(ours) as connection:
            keys = NamespaceKeys("main")
            known = connection.llen(keys.item_ids)
            for first in range(known, MANY_ITEMS, 10_000):
                numbers = range(first, min(first + 10_000, MANY_ITEMS))
                pipe = connection.pipeline(transaction=False)
                pipe.rpush(keys.item_ids, *(f"more-{n}" for n in numbers))
                pipe.hset(keys.item_numbers, mapping={f"more-{n}": n for n in numbers})
                pipe.execute()
        version = publish_model(ours, row)
        users = sorted({part.user_ids[user] for user in part.user.tolist()})
        path = f"/v1/users/{users[0]}/recommendations?model=fbgd"
        uvloop.run(serving(ours, path, version))
        requests = itertools.cycle(paths(users, 20_000, "&model=fbgd"))
        calm = open_loop(ours.host, ours.port, requests, rate=20.0, seconds=seconds)
        found = uvloop.run(calm)
    note = f"20/s, p50 {found.percentile(50):.1f} ms, {found.errors} errors"
    yield Figure(SECTION, "1 000 000 items x 64: p99", found.percentile(99), "ms", 40.0, note=note)


KINDS: dict[str, tuple[dict[str, str], str, float]] = {
    "warm": ({}, "&model=fbgd", 50.0),
    "off": ({"HEDGEROW_USER_CACHE_MB": "0"}, "&model=fbgd", 30.0),
    "default": ({}, "", 50.0),
    EVERY: ({}, "", 55.0),
}
"""Environment of the service, further query parameters, bar in percent."""


def figures(*, quick: bool, only: str | None) -> Iterator[Figure]:
    """Measure all kinds of requests, or one."""
    ratings = data.read("ML-1M")
    rounds, seconds = (1, 3.0) if quick else (5, 5.0)
    for name, (environment, more, bar) in KINDS.items():
        if only in {None, name}:
            found = measured(name, ratings, environment, more=more, rounds=rounds, seconds=seconds)
            yield from found.figures(bar)
    if only in {None, "many"}:
        yield from many_items(ratings, seconds=4 * seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=[*KINDS, "many"], help="one kind of request")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    data.require("ML-1M")
    found = list(figures(quick=options.quick, only=options.only))
    sys.exit(publish(found, as_json=options.json, data="ML-1M"))


if __name__ == "__main__":
    main()
