"""Neighbours of items over HTTP: ordered, trained, and what lists, reasons and comparisons say."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.settings import Settings
from service.store.connection import connect
from service.store.jobs.records import JobRecords
from service.store.keys import NamespaceKeys
from service.store.log.lease import Lease
from service.training import work
from tests.api import Api
from tests.histories import store_histories, world

PATH = "/v1/users/u0000/recommendations"


@pytest.fixture
def api(redis_url: str, namespace: str, tmp_path: Path) -> Iterator[Api]:
    """Return an api whose model of the family was ordered over HTTP."""
    settings = Settings(namespace=namespace, data_dir=tmp_path)
    with connect(redis_url, role="test") as client, Api(settings, redis_url) as api:
        store_histories(client, settings, world(users=60))
        ordered = api("POST", "/v1/retrain", json={"model": "neighbours", "budget_s": 0.5})
        assert ordered.is_success, ordered.text
        lease = Lease(client, NamespaceKeys(namespace).trainer, 60_000)
        records, job = JobRecords(client, namespace), ordered.json()["id"]
        assert lease.acquire()
        assert records.claim(job, lease.token)
        work.run(settings, client, job)
        lease.release()
        assert records.record(job).status == "succeeded", records.record(job).error
        api.follow_models()
        yield api


def test_its_lists_name_what_carries_them(api: Api) -> None:
    answer = api("GET", PATH, params={"model": "neighbours", "k": 5, "explain": True}).json()
    assert answer["strategy"] == "neighbours"
    assert len(answer["items"]) == 5
    for item in answer["items"]:
        assert item["because"]
        assert all(past["part"] > 0.0 for past in item["because"])
    scores = [item["score"] for item in answer["items"]]
    assert scores == sorted(scores, reverse=True)


def test_a_posted_history_is_enough(api: Api) -> None:
    body = {"history": [{"item": "i3", "rating": 5}], "model": "neighbours", "k": 4}
    answer = api("POST", "/v1/recommendations", json=body).json()
    assert (answer["strategy"], len(answer["items"])) == ("neighbours", 4)
    assert "i3" not in [item["item"] for item in answer["items"]]


def test_it_compares_items_but_not_users(api: Api) -> None:
    answer = api("GET", "/v1/items/i3/similar", params={"model": "neighbours", "k": 3}).json()
    assert (answer["strategy"], len(answer["items"])) == ("neighbours", 3)
    assert "i3" not in [item["item"] for item in answer["items"]]
    refused = api("GET", "/v1/users/u0000/similar", params={"model": "neighbours"})
    assert refused.status_code == 422


def test_settings_out_of_bounds_are_refused_at_once(api: Api) -> None:
    for wrong in ({"share": -1.0}, {"reg": "much"}, {"alpha0": 1.0}, {"neighbours": 0}):
        order = {"model": "neighbours", "parameters": wrong}
        refused = api("POST", "/v1/retrain", json=order)
        assert refused.status_code == 422, wrong
        assert next(iter(wrong)) in refused.text
