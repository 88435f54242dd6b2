"""Lists for contexts over HTTP: events say where they happen, a training learns from it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from service.settings import Settings
from service.store.connection import connect
from service.store.jobs.records import JobRecords
from service.store.keys import NamespaceKeys
from service.store.log.lease import Lease
from service.training import work
from tests.api import Api, learning
from tests.histories import on_devices
from tests.server import wait_until

USERS = 220
PATH = "/v1/users/u0000/recommendations"
PHONE, TV = {"context": "device=phone"}, {"context": "device=tv,page=home"}


@pytest.fixture(scope="module")
def api(redis_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Return an api that was sent events with contexts, and has trained all families on them."""
    settings = Settings(namespace="contexts", data_dir=tmp_path_factory.mktemp("contexts"))
    with learning(settings, redis_server), Api(settings, redis_server) as api:
        rows = [
            {
                "user": one.user,
                "item": f"i{one.item}",
                "kind": "purchase",
                "timestamp": one.time_ms,
                "context": {"device": one.context.removeprefix("device=")},
            }
            for one in on_devices(users=USERS)
        ]
        sent = api("POST", "/v1/events", json=rows)
        assert sent.status_code == 202, sent.text
        learned = {"min_sequence": sent.json()["sequence"]}
        wait_until(lambda: api("GET", PATH, params=learned).is_success)
        _train(api, redis_server)
        api.follow_models()
        wait_until(lambda: _stacked(api))
        wait_until(lambda: asked(api, k=3, **PHONE)["score_kind"] == "probability")
        yield api


def _train(api: Api, redis_url: str) -> None:
    ordered = api("POST", "/v1/retrain", json={"budget_s": 0.5})
    assert ordered.is_success, ordered.text
    name, job = api.settings.namespace, ordered.json()["id"]
    with connect(redis_url, role="test") as client:
        lease, records = (
            Lease(client, NamespaceKeys(name).trainer, 60_000),
            JobRecords(client, name),
        )
        assert lease.acquire()
        assert records.claim(job, lease.token)
        work.run(api.settings, client, job)
        lease.release()
        record = records.record(job)
    assert record.status == "succeeded", record.error
    [tried] = [one for one in record.tried if one["model"] == "here"]
    assert tried["chosen"], tried
    assert tried["decision"]["outcome"] == "promoted"


def _stacked(api: Api) -> bool:
    """Whether the weights have come that the training foretold."""
    api.run(api.runtime.mixture_weights.refresh())
    stack = api("GET", "/v1/rankers").json()["stack"]
    return bool(stack) and any(one["signal"] == "here: log lift" for one in stack["weights"])


def asked(api: Api, **params: Any) -> dict[str, Any]:
    answer = api("GET", PATH, params=params)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def items_of(answer: dict[str, Any]) -> list[str]:
    return [entry["item"] for entry in answer["items"]]


def of_device(answer: dict[str, Any], device: int) -> int:
    """Return how many items are those that are taken mostly on this device."""
    numbers = [int(item[1:]) for item in items_of(answer)]
    return sum(number % 2 == 0 and number // 2 % 2 == device for number in numbers)


def test_a_list_fits_the_context_in_which_it_is_shown(api: Api) -> None:
    phone, tv = asked(api, k=20, **PHONE), asked(api, k=20, **TV)
    assert phone["score_kind"] == tv["score_kind"] == "probability"
    assert "here" in phone["models"]
    assert of_device(phone, 0) > of_device(phone, 1) + 2
    assert of_device(tv, 1) > of_device(tv, 0) + 2


def test_a_list_without_a_context_is_the_same_before_and_after_one_with_it(api: Api) -> None:
    plain = asked(api, k=20)
    assert "here" not in plain["models"]
    for context in (PHONE, TV, PHONE):
        assert items_of(asked(api, k=20, **context)) != items_of(plain)
        assert asked(api, k=20)["items"] == plain["items"]
    unheard = asked(api, k=20, context="device=watch,page=home")
    assert unheard["items"] == plain["items"]


def test_the_same_context_gets_the_same_list_again_and_another_one_its_own(api: Api) -> None:
    phone, tv = asked(api, k=7, **PHONE), asked(api, k=7, **TV)
    assert asked(api, k=7, **PHONE)["items"] == phone["items"] != tv["items"]
    assert asked(api, k=7, **TV)["items"] == tv["items"]


def test_every_way_to_ask_hears_the_context(api: Api) -> None:
    expected = items_of(asked(api, k=12, **PHONE))
    body = {"k": 12, "context": {"device": "phone"}}
    posted = api("POST", "/v1/recommendations", json={**body, "user": "u0000"}).json()
    assert items_of(posted) == expected
    batch = api("POST", "/v1/recommendations/batch", json={**body, "users": ["u0000", "u0001"]})
    assert items_of(json.loads(batch.text.splitlines()[0])) == expected
    candidates = [f"i{n}" for n in range(80)]
    ranks = {
        device: items_of(
            api(
                "POST",
                "/v1/rank",
                json={"user": "u0000", "candidates": candidates, "context": {"device": device}},
            ).json()
        )
        for device in ("phone", "tv")
    }
    assert ranks["phone"] != ranks["tv"]
    assert sorted(ranks["phone"]) == sorted(ranks["tv"])


def test_a_person_of_whom_nothing_else_is_known_gets_what_is_liked_there(api: Api) -> None:
    phone, tv = (
        api("POST", "/v1/recommendations", json={"k": 10, "context": {"device": device}}).json()
        for device in ("phone", "tv")
    )
    assert phone["strategy"] == tv["strategy"] == "here"
    assert phone["reason"] is None
    assert of_device(phone, 0) > of_device(phone, 1)
    assert of_device(tv, 1) > of_device(tv, 0)
    nowhere = api("POST", "/v1/recommendations", json={"k": 10}).json()
    assert nowhere["strategy"] == "popular"


def test_pages_for_a_context_repeat_nothing_even_if_it_changes(api: Api) -> None:
    first = asked(api, k=8, **PHONE)
    for context in (PHONE, TV, {}):
        second = asked(api, k=8, cursor=first["next_cursor"], **context)
        assert len({*items_of(first), *items_of(second)}) == 16


def test_the_family_that_is_named_says_what_it_needs(api: Api) -> None:
    named = asked(api, k=5, model="here", **PHONE)
    assert (named["strategy"], named["reason"]) == ("here", None)
    for params in ({}, {"context": "device=watch"}):
        answer = asked(api, k=5, model="here", **params)
        assert answer["strategy"] != "here"
        assert "send a `context`" in answer["reason"]


def test_an_explained_list_says_what_the_context_adds(api: Api) -> None:
    answer = asked(api, k=5, explain=True, **PHONE)
    assert all("here" in entry["parts"] for entry in answer["items"])
