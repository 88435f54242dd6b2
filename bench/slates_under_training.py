"""Recommendations with and without a training running beside them: latencies at the same load.

    python -m bench.slates_under_training [--rounds 2] [--seconds 15] [--json]

MovieLens 1M is imported and the default model trained once. Then slates of ten are requested at
half the rate that the service sustains, with 200 ratings a second arriving, alternately without and
during a training. That training is ordered through the service like any other and takes about as
long as the load.
"""

import argparse
import asyncio
import itertools
import statistics
import sys
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass

import uvloop

from bench import data, service
from bench.data import Ratings
from bench.freshness import trained
from bench.http_client import Load, closed_loop, open_loop, request
from bench.posts import rating_bodies
from bench.report import Figure, publish
from bench.slates import ARRIVING, CONNECTIONS, paths
from service.cli.clients.watching import watch
from service.client import ServiceClient

SECTION = "Recommendations under a training"
TIMES = 3.0
OTHER_STAGES_S = 4.0
"""Seconds of a load reserved for all stages of a training except its search."""


@dataclass(frozen=True)
class Rounds:
    """Loads without and with a training, alternating."""

    rate: float
    calm: tuple[Load, ...]
    training: tuple[Load, ...]
    busy_s: tuple[float, ...]
    """Seconds of each training, all stages together."""


async def _beside_ratings(
    server: service.Server, load: Coroutine[None, None, Load], bodies: Iterator[bytes], s: float
) -> Load:
    arriving = open_loop(server.host, server.port, bodies, rate=ARRIVING, seconds=s)
    _, found = await asyncio.gather(arriving, load)
    return found


def measured(server: service.Server, ratings: Ratings, *, rounds: int, seconds: float) -> Rounds:
    """Find the sustained rate, then measure at half of it."""
    bodies = itertools.cycle([request("POST", "/v1/ratings", b) for b in rating_bodies(ratings)])
    requests = itertools.cycle(paths(ratings.user_ids, 60_000, "&model=fbgd"))
    address = server.host, server.port
    rate = 0.0
    for _ in range(2):  # the first round fills the caches
        most = closed_loop(*address, requests, connections=CONNECTIONS, seconds=5.0)
        rate = uvloop.run(_beside_ratings(server, most, bodies, 5.0)).rate / 2

    def load() -> Load:
        asked = open_loop(*address, requests, rate=rate, seconds=seconds)
        return uvloop.run(_beside_ratings(server, asked, bodies, seconds))

    calm, training, busy = [], [], []
    with ServiceClient(f"http://{server.host}:{server.port}") as client:
        for _ in range(rounds):
            calm.append(load())
            order = {"model": "fbgd", "budget_s": seconds - OTHER_STAGES_S}
            job = client.post("/v1/retrain", order)
            training.append(load())
            job = watch(client, job)
            if job["status"] != "succeeded":
                raise RuntimeError(f"the training {job['status']}: {job['error']}")
            busy.append(sum(job["metrics"]["seconds"].values()))
    return Rounds(rate, tuple(calm), tuple(training), tuple(busy))


def figures(found: Rounds, seconds: float) -> Iterator[Figure]:
    """Yield the tail latencies without and with a training, and their ratio."""
    p99 = []
    for name, loads in (("without", found.calm), ("with", found.training)):
        each = [load.percentile(99) for load in loads]
        p99.append(statistics.median(each))
        note = ", ".join(
            f"p50 {one.percentile(50):.2f}, p99 {one.percentile(99):.2f}" for one in loads
        )
        errors = sum(load.errors for load in loads)
        what = f"p99 at {found.rate:.0f}/s {name} a training"
        yield Figure(SECTION, what, p99[-1], "ms", note=f"{note} ms; {errors} errors")
    busy = ", ".join(f"{busy:.1f}" for busy in found.busy_s)
    note = f"trainings of {busy} s in loads of {seconds:g} s"
    yield Figure(SECTION, "with : without", p99[1] / p99[0], "", TIMES, note=note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=15.0, help="seconds of each load")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    data.require("ML-1M")
    ratings = data.read("ML-1M")
    with trained() as server:
        found = measured(server, ratings, rounds=given.rounds, seconds=given.seconds)
    sys.exit(publish(list(figures(found, given.seconds)), as_json=given.json, data="ML-1M"))


if __name__ == "__main__":
    main()
