"""Topics over HTTP: of the catalogue and of a user, and what is said where there are none."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.settings import Settings
from service.store.connection import connect
from service.store.jobs.records import JobRecords
from service.store.keys import NamespaceKeys
from service.store.log.lease import Lease
from service.training import work
from tests.api import Api
from tests.histories import Record, store_histories, world
from tests.server import wait_until

N_TASTES, N_ITEMS = 4, 80
SORTS = ("teas", "ropes", "lamps", "shoes")


@pytest.fixture
def empty(redis_url: str, namespace: str, tmp_path: Path) -> Iterator[Api]:
    """Return an api with histories of four tastes, and no model."""
    settings = Settings(namespace=namespace, data_dir=tmp_path)
    with connect(redis_url, role="test") as client, Api(settings, redis_url) as api:
        shy = [Record("shy", 3, 3.0), Record("late", N_ITEMS, 5.0)]
        store_histories(client, settings, [*world(users=80, items=N_ITEMS), *shy])
        yield api


@pytest.fixture
def api(empty: Api, redis_url: str) -> Api:
    """Return the api with a model that has learned all items but the last."""
    train(empty, redis_url)
    return empty


def train(api: Api, redis_url: str, **order: Any) -> None:
    settings, body = api.settings, {"model": "fbgd", "budget_s": 0.5, "parameters": order}
    with connect(redis_url, role="test") as client:
        ordered = api("POST", "/v1/retrain", json=body | {"promote_unjudged": True})
        assert ordered.is_success, ordered.text
        lease = Lease(client, NamespaceKeys(settings.namespace).trainer, 60_000)
        records, job = JobRecords(client, settings.namespace), ordered.json()["id"]
        assert lease.acquire()
        assert records.claim(job, lease.token)
        work.run(settings, client, job)
        lease.release()
        assert records.record(job).status == "succeeded", records.record(job).error
    api.follow_models()


def get(api: Api, path: str) -> Any:
    answer = api("GET", path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def taste(item: str) -> int:
    return int(item[1:]) % N_TASTES


def describe(api: Api) -> None:
    for n in range(N_ITEMS):
        document = {"categories": ["goods", SORTS[n % N_TASTES]], "features": {"title": f"No {n}"}}
        assert api("PUT", f"/v1/items/i{n}", json=document).is_success
    wait_until(lambda: get(api, "/v1/popular?k=80&category=goods")["items"][N_ITEMS - 1 :])


def test_topics_tell_tastes_apart_and_are_named_by_categories(api: Api) -> None:
    before = get(api, "/v1/topics")
    assert before["topics"][0]["name"] == "topic 0"
    describe(api)
    found = get(api, "/v1/topics")
    assert found["model_version"] == before["model_version"]
    assert (found["strategy"], found["reason"]) == ("fbgd", None)
    listed = [one["item"] for topic in found["topics"] for one in topic["items"]]
    assert len(listed) == len(set(listed)) > N_TASTES * 10
    assert sum(topic["share"] for topic in found["topics"]) == pytest.approx(1.0, abs=1e-6)
    assert {term for topic in found["topics"] for term in topic["terms"]} == set(SORTS)
    for topic in found["topics"]:
        assert topic["name"] == (", ".join(topic["terms"]) or f"topic {topic['topic']}")
        strengths = [one["strength"] for one in topic["items"]]
        assert strengths == sorted(strengths, reverse=True)
        tastes = [SORTS[taste(one["item"])] for one in topic["items"][:10]]
        if topic["terms"]:
            assert Counter(tastes).most_common(1)[0][0] in topic["terms"]


def test_a_user_is_made_of_the_topics_of_what_was_liked(api: Api) -> None:
    describe(api)
    for user in range(12):
        found = get(api, f"/v1/users/u{user:04d}/topics")
        first = found["topics"][0]
        assert SORTS[user % N_TASTES] in first["terms"]
        assert first["lift"] > 1.5
        assert 0 < len(first["items"]) <= 5
        assert sum(topic["share"] for topic in found["topics"]) == pytest.approx(1.0, abs=1e-6)
        assert found["seen_through"].startswith("0:")


def test_hidden_items_are_in_no_list_of_a_topic(api: Api) -> None:
    first = get(api, "/v1/topics")["topics"][0]
    gone = first["items"][0]["item"]
    assert api("PUT", f"/v1/items/{gone}", json={"hidden": True}).is_success

    def now() -> Any:
        return get(api, "/v1/topics")["topics"][0]

    wait_until(lambda: now()["n_items"] == first["n_items"] - 1)
    assert gone not in {one["item"] for one in now()["items"]}


def test_another_model_has_other_topics(api: Api, redis_url: str) -> None:
    before = get(api, "/v1/topics")
    train(api, redis_url, factors=3)
    # whichever of the two ranks better by chance: the other one shall serve
    versions = [one["version"] for one in get(api, "/v1/models?strategy=fbgd")["items"]]
    other = next(version for version in versions if version != before["model_version"])
    assert api("POST", f"/v1/models/{other}/promote").is_success
    api.follow_models()
    after = get(api, "/v1/topics")
    assert after["model_version"] != before["model_version"]
    assert after["topics"] != before["topics"]


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        ("nobody", "no active model knows anything about this user yet"),
        ("shy", "nothing in this history says what is liked"),
    ],
)
def test_a_user_without_likes_has_no_topics_and_a_reason(api: Api, user: str, reason: str) -> None:
    found = get(api, f"/v1/users/{user}/topics")
    assert found["topics"] == []
    assert found["reason"].startswith(reason)
    assert found["model_version"] is not None


def test_without_a_model_there_are_no_topics_and_a_reason(empty: Api) -> None:
    for path in ("/v1/topics", "/v1/users/u0000/topics"):
        found = get(empty, path)
        assert (found["topics"], found["model_version"], found["strategy"]) == ([], None, None)
        assert "POST /v1/retrain" in found["reason"]
