"""After an import and a training, the model that the gate found best leads the mixture at once."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from service.cli.clients.watching import watch
from service.client import ServiceClient, ndjson
from tests.histories import Record, half_in_order, world
from tests.server import wait_until
from tests.service.running import service

pytestmark = pytest.mark.flow

QUICK = {"factors": 8, "epochs": 4}
WORSE = {"factors": 1, "reg": 1_000.0}
USERS = [f"u{n:04d}" for n in range(0, 300, 10)]


@pytest.fixture
def client(room: Path) -> Iterator[ServiceClient]:
    with service(room) as whole, whole.client() as client:
        client.wait_until_ready()
        yield client


def imported(client: ServiceClient, records: list[Record]) -> None:
    """Upload ratings ordered by user."""
    rows = [
        {
            "user": record.user,
            "item": f"i{record.item}",
            "rating": record.value,
            "timestamp": datetime.fromtimestamp(record.time_ms / 1000, UTC).isoformat(),
        }
        for record in sorted(records, key=lambda record: record.user)
    ]
    sequence = client.upload("/v1/ratings/stream", ndjson(rows)).sequence
    client.wait_until_learned(sequence)


def trained(client: ServiceClient, model: str, **parameters: Any) -> dict[str, Any]:
    order = {"model": model, "parameters": parameters, "budget_s": 0}
    job = watch(client, client.post("/v1/retrain", order))
    assert (job["status"], job["decision"]["outcome"]) == ("succeeded", "promoted")
    return dict(job["metrics"])


def weights(client: ServiceClient) -> dict[str, float]:
    return {one["name"]: one["weight"] for one in client.get("/v1/rankers")["rankers"]}


def slates(client: ServiceClient, **parameters: str) -> list[set[str]]:
    path = "/v1/users/{}/recommendations"
    found = (client.get(path.format(user), k=10, **parameters)["items"] for user in USERS)
    return [{entry["item"] for entry in entries} for entries in found]


def strategy(client: ServiceClient, model: str) -> str:
    """Return the strategy that answers a request for this model."""
    path = f"/v1/users/{USERS[0]}/recommendations"
    return str(client.get(path, model=model)["strategy"])


def test_after_an_import_and_a_training_the_best_model_leads(client):
    imported(client, world())
    judged = trained(client, "fbgd", **QUICK)
    assert judged["ndcg@10"] > 1.5 * judged["popular"]["ndcg@10"]
    # the api sees a promotion within a quarter of a second; the follower takes longer
    wait_until(lambda: strategy(client, "fbgd") == "fbgd")
    at_once, own = slates(client), slates(client, model="fbgd")
    wait_until(lambda: "fbgd" in weights(client))
    later = slates(client)
    for made in (at_once, later):
        shared = [len(mixed & best) for mixed, best in zip(made, own, strict=True)]
        assert sum(shared) >= 8 * len(shared)
    worse = trained(client, "ocmf-sq-wsq", **WORSE)
    assert worse["lead"] < judged["lead"]
    wait_until(lambda: "ocmf" in weights(client))
    heaviest, *_ = client.get("/v1/rankers")["rankers"]
    assert heaviest["name"] == "fbgd"


def test_after_an_order_without_a_recipe_the_stack_leads_before_anything_is_judged(client):
    imported(client, half_in_order())
    job = watch(client, client.post("/v1/retrain", {"budget_s": 0}))
    assert (job["status"], job["decision"]["outcome"]) == ("succeeded", "promoted"), job
    wait_until(lambda: client.get("/v1/rankers")["stack"] is not None)
    found = client.get("/v1/rankers")
    assert found["judged"] == 0
    arms = {arm["name"]: arm["weight"] for arm in found["arms"]}
    assert arms["stack"] == max(arms.values())
    promoted = {one["strategy"] for one in job["tried"] if one["version"]}
    assert promoted <= {one["name"] for one in found["rankers"]}
