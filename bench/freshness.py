"""Time from posting a rating to recommendations that reflect it, at 500 arriving ratings a second.

    python -m bench.freshness [--seconds 40] [--json]

MovieLens 1M is imported and the default model trained once, through the service. A probe asks for
recommendations, rates the first of them and asks again with the ``min_sequence`` of that rating.
The time runs from the first byte of the POST until the answer to that second request is complete;
no request is repeated.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import numpy as np
import uvloop

from bench import data, service
from bench.data import Ratings
from bench.http_client import Client, Load, open_loop, request
from bench.posts import rating_bodies
from bench.report import Figure, publish
from bench.slates import serving
from service.cli.clients.watching import watch
from service.client import ServiceClient
from service.files.sending import send

SECTION = "Freshness of recommendations"
ARRIVING, MOST_MS = 500.0, 15.0
KINDS = ("the default, a known user", "fbgd, a known user", "the default, a new user")

Slate = dict[str, Any]


@contextlib.contextmanager
def trained(environment: dict[str, str] | None = None) -> Iterator[service.Server]:
    """Run the service with ML-1M and the default model; only an explicit order trains again."""
    settings = {"HEDGEROW_RETRAIN_AFTER_EVENTS": "0"} | (environment or {})
    with service.hedgerow(settings) as server:
        with ServiceClient(f"http://{server.host}:{server.port}") as client:
            client.wait_until_learned(send(client, data.FILES["ML-1M"]).sequence)
            job = watch(client, client.post("/v1/retrain", {"model": "fbgd"}))
            if job["status"] != "succeeded":
                raise RuntimeError(f"the training {job['status']}: {job['error']}")
        uvloop.run(serving(server, "/v1/users/1/recommendations?model=fbgd", job["version"]))
        yield server


@dataclass
class Probes:
    """Results of all probes of one kind."""

    taken_ms: list[float] = field(default_factory=list)
    shown: int = 0
    """Number of answers that still contain the item just rated."""
    unchanged: int = 0
    """Number of answers whose other items kept their order and scores."""
    reordered: int = 0
    """Number of answers whose other items changed their order."""

    def add(self, item: str, before: Slate, after: Slate, taken_ms: float) -> None:
        was, now = _pairs(before, item), _pairs(after, "")
        self.taken_ms.append(taken_ms)
        self.shown += any(name == item for name, _ in now)
        self.unchanged += now[: len(was)] == was
        self.reordered += [name for name, _ in now[: len(was)]] != [name for name, _ in was]


def _pairs(slate: Slate, without: str) -> list[tuple[str, float]]:
    return [(e["item"], e["score"]) for e in slate["items"] if e["item"] != without]


async def _probe(client: Client, probes: Probes, user: str, more: str) -> None:
    path = f"/v1/users/{quote(user, safe='')}/recommendations?k=10{more}"
    before = json.loads((await client.ask(request("GET", path))).body)
    item = before["items"][0]["item"]
    post = request(
        "POST", "/v1/ratings", json.dumps({"user": user, "item": item, "rating": 5}).encode()
    )
    began = time.perf_counter()
    written = json.loads((await client.ask(post)).body)
    token = quote(written["sequence"], safe="")
    answer = await client.ask(request("GET", f"{path}&min_sequence={token}"))
    taken_ms = (time.perf_counter() - began) * 1e3
    if answer.status != 200:
        raise RuntimeError(f"{answer.status}: {answer.body.decode()[:300]}")
    probes.add(item, before, json.loads(answer.body), taken_ms)


async def _probed(server: service.Server, ratings: Ratings, seconds: float) -> list[Probes]:
    client = await Client().open(server.host, server.port)
    found = [Probes() for _ in KINDS]
    draw = np.random.default_rng(2)
    deadline = time.perf_counter() + seconds
    for number in itertools.count():
        if time.perf_counter() > deadline:
            break
        known = ratings.user_ids[int(draw.integers(len(ratings.user_ids)))]
        asked = ((known, ""), (known, "&model=fbgd"), (f"new-{number}", ""))[number % len(KINDS)]
        await _probe(client, found[number % len(KINDS)], *asked)
        await asyncio.sleep(float(draw.uniform(0.002, 0.02)))  # not in step with commits
    client.close()
    return found


async def measured(
    server: service.Server, ratings: Ratings, seconds: float
) -> tuple[list[Probes], Load]:
    """Run the probes while ratings arrive."""
    bodies = itertools.cycle([request("POST", "/v1/ratings", b) for b in rating_bodies(ratings)])
    arriving = open_loop(server.host, server.port, bodies, rate=ARRIVING, seconds=seconds)
    load, found = await asyncio.gather(arriving, _probed(server, ratings, seconds - 0.5))
    return found, load


def figures(found: list[Probes], load: Load) -> Iterator[Figure]:
    """Yield the latency of each kind of probe, and how many answers did not reflect the rating."""
    for kind, probes in zip(KINDS, found, strict=True):
        p50, p99 = np.percentile(probes.taken_ms, [50, 99])
        n = len(probes.taken_ms)
        note = f"p50 {p50:.2f} ms, {n} probes, longest {max(probes.taken_ms):.1f} ms"
        yield Figure(SECTION, f"{kind}: p99", float(p99), "ms", MOST_MS, note=note)
        yield Figure(SECTION, f"{kind}: the rated item is still there", probes.shown, "", 0.0)
        note = f"another order of the other items in {100 * probes.reordered / n:.0f} %"
        yield Figure(SECTION, f"{kind}: nothing else changed", probes.unchanged, "", 0.0, note=note)
    note = f"p50 {load.percentile(50):.2f} ms, {load.errors} errors"
    yield Figure(
        SECTION, f"acknowledgement at {load.rate:.0f}/s, p99", load.percentile(99), "ms", note=note
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    data.require("ML-1M")
    ratings = data.read("ML-1M")
    with trained() as server:
        uvloop.run(measured(server, ratings, 3.0))
        found = list(figures(*uvloop.run(measured(server, ratings, given.seconds))))
    sys.exit(publish(found, as_json=given.json, data="ML-1M"))


if __name__ == "__main__":
    main()
