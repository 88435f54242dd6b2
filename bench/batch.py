"""Lists for 1 000 users: one request for all of them beside a request for each.

    python -m bench.batch [--quick] [--json]

MovieLens 100K is imported and a model of 64 factors published. The users are the same in both; each
round asks for them one by one over one connection, over 32 connections at once, and as one batch,
first with their histories unread, then with all of them in memory. k = 10; one api process.
"""

import argparse
import http.client
import itertools
import json
import time
from collections.abc import Iterator, Mapping

import numpy as np
import uvloop

from bench import data, service
from bench.data import Ratings
from bench.http_client import closed_loop, request
from bench.ingest import ndjson, upload
from bench.report import Figure, publish
from bench.slates import fitted, publish_model, serving
from service.client import segment

SECTION = "Batches"
USERS, CONNECTIONS, BAR = 1_000, 32, 3.0
COLD = {"HEDGEROW_USER_CACHE_MB": "0"}
"""Settings with which every history is read from the store."""


def singly(server: service.Server, users: list[str], more: str, connections: int) -> float:
    """Return the lists a second when each user is asked for alone."""
    paths = [f"/v1/users/{segment(user)}/recommendations?k=10{more}" for user in users]
    requests = itertools.cycle([request("GET", path) for path in paths])
    load = uvloop.run(
        closed_loop(server.host, server.port, requests, connections=connections, seconds=2.0)
    )
    if load.errors:
        raise SystemExit(f"{load.errors} requests failed")
    return load.rate


def at_once(server: service.Server, users: list[str], body: Mapping[str, object]) -> float:
    """Return the lists a second of one batch, its connection included."""
    packed = json.dumps({"users": users, "k": 10, **body})
    started = time.perf_counter()
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    headers = {"content-type": "application/json"}
    connection.request("POST", "/v1/recommendations/batch", packed, headers)
    lines = connection.getresponse().read().splitlines()
    seconds = time.perf_counter() - started
    connection.close()
    if len(lines) != len(users) or any(b'"error"' in line for line in lines):
        raise SystemExit("the batch has other lines than one list for each user")
    return len(users) / seconds


def figures(ratings: Ratings, rounds: int) -> Iterator[Figure]:
    """Yield the rates and their ratios, with and without a cache of users."""
    drawn = np.random.default_rng(3).integers(0, len(ratings.user_ids), USERS)
    users = [ratings.user_ids[at] for at in drawn.tolist()]
    for name, environment in (("in memory", {}), ("unread", COLD)):
        with service.hedgerow(environment) as ours:
            upload(ours, ndjson(ratings), len(ratings))
            version = publish_model(ours, fitted(ours, ratings))
            path = f"/v1/users/{segment(users[0])}/recommendations?model=fbgd"
            uvloop.run(serving(ours, path, version))
            for model, body in (("one model", {"model": "fbgd"}), ("the mixture", {})):
                more = "".join(f"&{key}={value}" for key, value in body.items())
                at_once(ours, users, body)
                found = np.array(
                    [
                        (
                            singly(ours, users, more, 1),
                            singly(ours, users, more, CONNECTIONS),
                            np.median([at_once(ours, users, body) for _ in range(3)]),
                        )
                        for _ in range(rounds)
                    ]
                )
                yield from _compared(f"{model}, histories {name}", found)


def _compared(what: str, rates: np.ndarray) -> Iterator[Figure]:
    alone, several, batch = np.median(rates, axis=0)
    yield Figure(SECTION, f"{what}: one by one", alone, "/s")
    yield Figure(SECTION, f"{what}: {CONNECTIONS} at once", several, "/s")
    yield Figure(SECTION, f"{what}: a batch", batch, "/s")
    ratios = rates[:, 2] / rates[:, 0]
    note = f"{len(ratios)} rounds, {ratios.min():.1f} to {ratios.max():.1f}"
    yield Figure(
        SECTION, f"{what}: batch / one by one", float(np.median(ratios)), "", BAR, "higher", note
    )
    ratio = float(np.median(rates[:, 2] / rates[:, 1]))
    yield Figure(SECTION, f"{what}: batch / {CONNECTIONS} at once", ratio)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    data.require("ML-100K")
    found = [*figures(data.read("ML-100K"), 1 if options.quick else 5)]
    raise SystemExit(publish(found, as_json=options.json, data="ML-100K"))


if __name__ == "__main__":
    main()
