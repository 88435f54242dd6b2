"""A program that prints the kernels which a service compiles only when a request needs them.

It warms up as `hedgerow doctor --compile` does, uses a whole service within this one process, and
prints each kernel with the argument types that were compiled after the warm-up. In production a
role would stop to compile them. Run as
``python -m tests.flows.late_compilations REDIS_URL NAMESPACE DIRECTORY``.
"""

import importlib
import json
import pkgutil
import sys
from pathlib import Path
from typing import Any

import core.kernels
from service.processes.compiling import compile_all
from service.settings import Settings
from service.store.connection import connect
from service.store.jobs.records import JobRecords
from service.store.keys import NamespaceKeys
from service.store.log.lease import Lease
from service.telemetry import set_up_logs
from service.training import work
from tests.api import NDJSON, Api, learning
from tests.server import wait_until

USERS, ITEMS = 600, 40
"""Enough for the gate: the newest fifth of the positives is of more users than it needs."""
MODELS = ("fbgd", "ocmf-lr-wsq", "ocmf-sq-wsq", "exmlds", "ordinal")
QUERIES = (
    "",
    "&explain=true",
    "&diversity=0.5",
    "&filter=year%20%3E%202000",
    "&category=a",
    "&exclude_seen=false",
    *(f"&model={name}" for name in ("online", "popular", "trending", "fbgd", "ocmf", "exmlds")),
)
PATHS = (
    *(
        f"/v1/users/{user}/recommendations?k=5{query}"
        for user in ("u1", "nobody")
        for query in QUERIES
    ),
    *(f"/v1/users/{user}/predictions/i3" for user in ("u1", "nobody")),
    *(f"/v1/{subject}/similar?k=5" for subject in ("users/u1", "items/i1")),
    "/v1/users/u1/predictions/i3?strategy=ordinal",
    "/v1/popular",
    "/v1/trending",
    "/v1/topics",
    "/v1/experts",
)
BODIES: dict[str, Any] = {
    "/v1/recommendations": {"history": [{"item": "i1", "rating": 5}], "k": 5},
    "/v1/rank": {"user": "u1", "candidates": ["i1", "i2", "i30"]},
    "/v1/items/audience": {"item": "i3"},
    "/v1/predictions": {"pairs": [{"user": "u1", "item": "i2"}, {"user": "u2", "item": "i2"}]},
}


def compiled() -> set[str]:
    """Return the kernels that are compiled, each with the types of its arguments."""
    return {
        f"{module.name}.{name}{types}"
        for module in pkgutil.iter_modules(core.kernels.__path__)
        for name, member in vars(importlib.import_module(f"core.kernels.{module.name}")).items()
        for types in getattr(member, "overloads", {})
    }


def ratings(first: int, month: int) -> bytes:
    """Return three ratings of each user as NDJSON."""
    return b"\n".join(
        json.dumps(
            {
                "user": f"u{u}",
                "item": f"i{(7 * u + 11 * n) % ITEMS}",
                "rating": 1 + (u + n) % 2 * 4,
                "timestamp": f"2026-{month:02}-{1 + (u + n) % 28:02}T00:00:00Z",
            }
        ).encode()
        for u in range(USERS)
        for n in range(first, first + 3)
    )


def learn(api: Api, lines: bytes, key: str) -> None:
    """Send ratings under an idempotency key and wait until they are learned."""
    headers = NDJSON | {"idempotency-key": key}
    answer = api("POST", "/v1/ratings/stream", content=lines, headers=headers).json()
    path = f"/v1/users/nobody/predictions/none?min_sequence={answer['sequence']}"
    wait_until(lambda: api("GET", path).is_success)


def send_documents(api: Api) -> None:
    """Give all items and users features."""
    for kind, n, features in (("item", ITEMS, ("x", "y", "z")), ("user", USERS, ("p", "q"))):
        lines = b"\n".join(
            json.dumps(
                {
                    kind: f"{kind[0]}{number}",
                    "features": {"is": features[number % len(features)], "year": 1990 + number % 9},
                }
            ).encode()
            for number in range(n)
        )
        assert api("POST", f"/v1/{kind}s", content=lines, headers=NDJSON).is_success


def take_something_new(api: Api) -> None:
    """Rate an item that no model has learned, until its models fold it in."""
    body = [{"user": f"u{n}", "item": "new", "rating": 5} for n in range(6)]
    assert api("POST", "/v1/ratings", json=body).is_success
    path = f"/v1/users/u7/recommendations?model=fbgd&k={ITEMS}"

    def listed() -> bool:
        items = api("GET", path).json()["items"]
        return {"item": "new", "strategy": "fbgd"} in [
            {name: one[name] for name in ("item", "strategy")} for one in items
        ]

    wait_until(listed)


def ask(api: Api) -> None:
    """Call every route that computes something; without a model some answer 409."""
    for path in PATHS:
        answer = api("GET", path)
        assert answer.status_code in {200, 409}, (path, answer.text)
    for path, body in BODIES.items():
        answer = api("POST", path, json=body)
        assert answer.status_code in {200, 409}, (path, answer.text)


def train(api: Api, redis_url: str, model: str) -> str:
    """Train a model in this process, promote it and return how its users were held out."""
    settings = api.settings
    order = {"model": model, "budget_s": 0.3, "promote_unjudged": True}
    job = api("POST", "/v1/retrain", json=order).json()["id"]
    with connect(redis_url, role="test") as client:
        lease = Lease(client, NamespaceKeys(settings.namespace).trainer, 60_000)
        records = JobRecords(client, settings.namespace)
        assert lease.acquire()
        assert records.claim(job, lease.token)
        work.run(settings, client, job)
        record = records.record(job)
        lease.release()
    assert record.status == "succeeded", record.error
    api.follow_models()
    return str(record.metrics["held_out"])


def main(redis_url: str, namespace: str, directory: str) -> None:
    """Warm up, use every part of the service, and print what the warm-up missed."""
    set_up_logs("test", "error")
    for _ in compile_all():
        pass
    warmed = compiled()
    settings = Settings(
        namespace=namespace, data_dir=Path(directory), online_snapshot_s=0.2, judged_per_s=1_000
    )
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        send_documents(api)
        learn(api, ratings(0, month=1), "first")
        ask(api)
        for month in (2, 3):
            held_out = [train(api, redis_url, model) for model in MODELS]
            # from the second round on, enough is new for the gate to load and judge the served
            # snapshots themselves
            assert month == 2 or set(held_out) == {"the newest of all"}, held_out
            # the event loop, which polls for the online items, runs during requests only
            wait_until(lambda: api.ready() and bool(api.runtime.online_items.current.parts))
            ask(api)
            learn(api, ratings(3 * (month - 1), month), f"more-{month}")
        take_something_new(api)
        ask(api)
        for path in ("/v1/users/u7/ratings/i9", "/v1/users/u8", "/v1/items/i9"):
            api("DELETE", path)
        api("POST", "/v1/users/u1/merge", json={"source": "u2"})
        learn(api, ratings(9, month=4), "last")
    for late in sorted(compiled() - warmed):
        print(late)  # noqa: T201 - the program's output


if __name__ == "__main__":
    main(*sys.argv[1:])
