"""Finished answers are given again until something changes the list, with what is new in them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.json import decode, encode
from redis import Redis

from core.batch.snapshot import of_objective
from service.api.slates.kept_body import KeptBody
from service.rec_ids import decode as rec_id_of
from service.rec_ids import encode as rec_id
from service.settings import Settings
from service.store.models.records import LEAD
from service.store.models.registry import Registry
from tests.api import NDJSON, Api, learning
from tests.models import activated, objective
from tests.server import wait_until
from tests.service.metrics.scrape import samples, value

N = 60
PATH = "/v1/users/ada/recommendations"


class Shop:
    """One process, its users, and the answers that it keeps of ada."""

    def __init__(self, api: Api, redis_url: str) -> None:
        self.api, self._redis_url = api, redis_url

    def write(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        answer = self.api(method, path, **more)
        assert answer.is_success, answer.text
        return dict(answer.json())

    def slate(self, **params: Any) -> dict[str, Any]:
        return self.write("GET", PATH, params={"model": "fbgd", **params})

    def items(self, **params: Any) -> list[str]:
        return [entry["item"] for entry in self.slate(**params)["items"]]

    @property
    def kept(self) -> dict[bytes, Any]:
        users = self.api.runtime.recommender._users
        state = users._entries.get("ada")
        return {} if state is None else dict(state.answers)

    def activate(self, seed: int) -> str:
        made = of_objective(
            "fbgd",
            objective(N, 8, seed=seed),
            settings={},
            metrics={LEAD: 0.1},
            cuts={"trained_through": {"0": 7}},
        )
        client = Redis.from_url(self._redis_url)
        try:
            registry = Registry(client, self.api.settings.namespace)
            version: str = activated(registry, made=made, strategy="fbgd").version
        finally:
            client.close()
        self.api.follow_models()
        return version

    def changed(self, item: str, **body: Any) -> None:
        """Write a document and wait until the process has heard of it."""
        self.write("PATCH", f"/v1/items/{item}", json=body)
        feed = self.api.runtime.view._feed
        version = self.api.run(feed.version())

        def heard() -> bool:
            self.api("GET", "/healthz")
            return bool(self.api.runtime.view.current.version >= version)

        wait_until(heard)


@pytest.fixture
def shop(redis_url: str, namespace: str, tmp_path: Path) -> Iterator[Shop]:
    settings = Settings(
        namespace=namespace, data_dir=tmp_path, min_sequence_wait_ms=60_000, judged_per_s=0
    )
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        made = Shop(api, redis_url)
        rng = np.random.default_rng(1)
        rows = [
            {"user": f"fan{n % 7}", "item": f"i{n}", "rating": int(rng.integers(1, 6))}
            for n in range(N)
        ]
        rows += [{"user": "ada", "item": f"i{n}", "rating": 5} for n in (3, 8)]
        token = made.write("POST", "/v1/ratings", json=rows)["sequence"]
        lines = [{"item": f"i{n}", "features": {"year": n}} for n in range(N)]
        made.write("POST", "/v1/items", content=b"\n".join(map(encode, lines)), headers=NDJSON)
        made.activate(0)
        made.slate(min_sequence=token)
        yield made


def test_an_answer_is_given_again_with_its_time_and_what_it_has_seen(shop: Shop) -> None:
    first = shop.slate(k=7)
    [kept] = shop.kept.values()
    token = shop.api.rate("bob", "i9", 4.0)
    shop.write("GET", "/v1/users/bob/recommendations", params={"min_sequence": token})
    again = shop.slate(k=7)
    assert [*shop.kept.values()] == [kept]
    assert again["seen_through"] == token != first["seen_through"]
    before, now = rec_id_of(first["rec_id"]), rec_id_of(again["rec_id"])
    assert before is not None
    assert now is not None
    assert (now.user, now.source) == (before.user, before.source)
    assert now.time_ms >= before.time_ms
    assert [*again] == [*first]
    same = {name for name in first if again[name] == first[name]}
    assert {*first} - same <= {"rec_id", "seen_through"}


def test_an_event_of_the_user_ends_all_answers(shop: Shop) -> None:
    [best, *_] = shop.items()
    shop.items(k=3)
    assert len(shop.kept) == 2
    token = shop.api.rate("ada", best, 5.0)
    assert best not in shop.items(min_sequence=token)
    assert not shop.kept
    assert best not in shop.items()


def test_what_may_not_be_shown_vanishes_and_comes_back(shop: Shop) -> None:
    before = shop.items()
    shop.changed(before[0], hidden=True)
    assert shop.items() == shop.items(k=11)[:10]
    assert before[0] not in shop.items()
    shop.changed(before[0], hidden=False)
    assert shop.items() == before
    shop.changed(before[1], available_until="2020-01-01T00:00:00Z")
    assert before[1] not in shop.items()
    assert shop.items() == shop.items()


def test_an_item_that_vanishes_ends_only_answers_that_have_it(shop: Shop) -> None:
    before = shop.items()
    [kept] = shop.kept.values()
    [other, *_] = {f"i{n}" for n in range(N)} - {*before, "i3", "i8"}
    shop.changed(other, hidden=True)
    assert shop.items() == before
    assert [*shop.kept.values()] == [kept]
    # it could be in any list
    shop.changed(other, hidden=False)
    assert shop.items() == before
    assert [*shop.kept.values()] != [kept]
    [kept] = shop.kept.values()
    shop.changed(before[-1], hidden=True)
    assert before[-1] not in shop.items()
    assert [*shop.kept.values()] != [kept]


def test_other_fields_of_a_document_end_nothing(shop: Shop) -> None:
    before = shop.items()
    [kept] = shop.kept.values()
    shop.changed(before[0], features={"year": 7})
    assert shop.items() == before
    assert [*shop.kept.values()] == [kept]


def test_a_promoted_model_answers_at_once(shop: Shop) -> None:
    before = shop.slate()
    version = shop.activate(5)
    after = shop.slate()
    assert after["model_version"] == version != before["model_version"]
    assert after["items"] != before["items"]


def test_a_list_that_ends_grows_with_the_catalogue(shop: Shop) -> None:
    before = shop.items(k=100)
    assert len(before) == N - 2
    shop.write("PUT", "/v1/items/i60", json={})
    # an answer that is not kept, because of a condition that changes nothing
    wait_until(lambda: "i60" in shop.items(k=100, exclude="i3"))
    assert shop.items(k=100) == [*before, "i60"]


def test_a_list_for_everybody_is_given_again_until_it_changes(shop: Shop) -> None:
    def given_again() -> bool:
        before = [*shop.kept.values()]
        shop.slate(model="popular")
        return [*shop.kept.values()] == before

    wait_until(given_again)
    for n in range(20):
        shop.api.rate(f"fan{n}", "i50", 5.0)
    wait_until(lambda: shop.items(model="popular")[0] == "i50")


@pytest.mark.parametrize(
    "asked",
    [
        {"exclude": "i1"},
        {"exclude_seen": "false"},
        {"filter": "year < 30"},
        {"category": "none"},
        {"fields": "year"},
        {"explain": "true"},
        {"diversity": "0.5"},
        {"max_per_category": "3"},
        {"min_sequence": "0:1"},
    ],
)
def test_only_answers_without_conditions_are_kept(shop: Shop, asked: dict[str, str]) -> None:
    shop.slate(**asked)
    assert not shop.kept
    shop.slate()
    assert len(shop.kept) == 1


def test_a_wrong_query_is_refused_though_another_is_kept(shop: Shop) -> None:
    shop.slate()
    assert shop.api("GET", PATH, params={"model": "fbgd", "kk": 1}).status_code == 422
    assert shop.api("GET", PATH, params={"model": "fbgd", "k": 0}).status_code == 422


def test_kept_answers_of_a_user_are_bounded_and_counted(shop: Shop) -> None:
    users = shop.api.runtime.recommender._users
    for k in range(1, 12):
        shop.slate(k=k)
        assert 1 <= len(shop.kept) <= 4
    state = users._entries["ada"]
    assert users._bytes == sum(one.nbytes for one in users._entries.values())
    assert state.nbytes > sum(one.body.nbytes for one in state.answers.values())


def test_a_long_query_is_answered_and_not_kept(shop: Shop) -> None:
    long = shop.api("GET", f"{PATH}?model=fbgd{'&' * 50_000}")
    assert long.is_success
    assert not shop.kept


def test_names_in_a_body_do_not_mislead_it() -> None:
    tricky = ',"rec_id":"x","seen_through":"y'
    own = rec_id("fbgd", "0123456789ab", 1_000, tricky)
    slate = {
        "user": tricky,
        "rec_id": own,
        "items": [{"item": tricky}],
        "seen_through": "0:1",
        "next_cursor": None,
        "reason": tricky,
    }
    later = decode(KeptBody.of(encode(slate), own).again(2_000, "0:22"))
    assert later == {
        **slate,
        "rec_id": rec_id("fbgd", "0123456789ab", 2_000, tricky),
        "seen_through": "0:22",
    }


def test_answers_that_are_given_again_are_counted(shop: Shop) -> None:
    shop.slate()
    before = samples(shop.api("GET", "/metrics").text)
    for _ in range(3):
        shop.slate()
    after = samples(shop.api("GET", "/metrics").text)
    name = "hedgerow_kept_answers_total"
    assert value(after, name, result="hit") == value(before, name, result="hit") + 3
    assert value(after, name, result="miss") == value(before, name, result="miss") > 0
