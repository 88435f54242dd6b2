"""Items over HTTP a moment after they were written: similar ones, slates, the latest, filters."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from redis import Redis

from core.batch.content.snapshot import of_content
from core.snapshot import Snapshot
from service.store.catalogue.feed import CatalogueFeed
from service.store.keys import NamespaceKeys
from service.store.models.registry import Registry
from tests.api import Api
from tests.core.described import N_ITEMS, body, fitted
from tests.models import activated
from tests.server import wait_until

SHOE, HAT = "a new shoe", "a new hat"


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return of_content(
        "content", fitted(), settings={}, metrics={}, cuts={"trained_through": {"0": 7}}
    )


@pytest.fixture
def shop(learned_api: Api, redis_url: str, snapshot: Snapshot) -> Api:
    """A shop of shoes and hats with a model of content; ann has bought shoes."""
    api = learned_api
    for item in range(N_ITEMS):
        put(api, f"i{item}", body(item))
    with Redis.from_url(redis_url) as client:
        activated(Registry(client, api.settings.namespace), made=snapshot, strategy="content")
    api.follow_models()
    for item in range(0, 20, 2):
        sequence = api.rate("ann", f"i{item}", 5)
    get(api, "/v1/users/ann/recommendations", min_sequence=sequence)
    return api


def put(api: Api, item: str, said: dict[str, Any]) -> Any:
    answer = api("PUT", f"/v1/items/{item}", json=said)
    assert answer.is_success, answer.text
    return answer.json()


def get(api: Api, path: str, **parameters: Any) -> Any:
    answer = api("GET", path, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def items(slate: Any) -> list[str]:
    return [entry["item"] for entry in slate["items"]]


def kind(item: str) -> int:
    """Return 0 for a shoe, 1 for a hat."""
    return {SHOE: 0, HAT: 1}.get(item, 0) if " " in item else int(item[1:]) % 2


def put_new(api: Api) -> None:
    put(api, SHOE, body(0))
    put(api, HAT, body(1))
    follow(api)


def follow(api: Api) -> None:
    """Wait until the process knows all documents that were written, and all that follows."""
    wait_until(lambda: api.run(_sees_all(api)))
    api.run(api.runtime.later_items.refresh())
    api.run(api.runtime.latest.refresh())
    api.run(api.runtime.new_items.refresh())


async def _sees_all(api: Api) -> bool:
    feed = CatalogueFeed(api.runtime.redis, api.settings.namespace)
    await asyncio.sleep(0.01)
    return api.runtime.view.current.version >= await feed.version()


def test_a_new_item_has_similar_items_by_what_is_said_of_it(shop: Api) -> None:
    put_new(shop)
    for item, own in ((SHOE, 0), (HAT, 1)):
        slate = get(shop, f"/v1/items/{item}/similar", k=5)
        assert slate["strategy"] == "content"
        assert slate["reason"] is None
        assert [kind(name) for name in items(slate)] == [own] * 5
    assert SHOE in items(get(shop, "/v1/items/i0/similar", model="content", k=5))


def test_a_new_item_is_in_slates_of_those_whom_it_fits(shop: Api) -> None:
    put_new(shop)
    slate = get(shop, "/v1/users/ann/recommendations", k=N_ITEMS + 2)
    place = {item: at for at, item in enumerate(items(slate))}
    assert place[SHOE] < place[HAT]
    own = get(shop, "/v1/users/ann/recommendations", k=N_ITEMS + 2, model="content", explain=True)
    place = {item: at for at, item in enumerate(items(own))}
    assert place[SHOE] < N_ITEMS / 2 < place[HAT]
    [shoe] = [entry for entry in own["items"] if entry["item"] == SHOE]
    assert {kind(past["item"]) for past in shoe["because"]} == {0}


def test_a_visitor_who_saw_a_new_item_gets_what_is_like_it(shop: Api) -> None:
    put_new(shop)
    answer = shop(
        "POST", "/v1/recommendations", json={"history": [{"item": HAT, "kind": "view"}], "k": 5}
    )
    assert answer.is_success, answer.text
    told = [entry for entry in answer.json()["items"] if entry["strategy"] == "content"]
    assert told
    assert {kind(entry["item"]) for entry in told} == {1}


def test_an_item_that_is_described_after_the_training_is_placed(shop: Api) -> None:
    """It had a number before, and nothing was said of it."""
    shop.rate("bob", "unspoken", 4)
    shop.run(shop.runtime.later_items.refresh())
    before = get(shop, "/v1/items/unspoken/similar")
    assert before["strategy"] != "content"
    put(shop, "unspoken", body(1))
    shop.run(shop.runtime.later_items.refresh())
    after = get(shop, "/v1/items/unspoken/similar", k=3)
    assert after["strategy"] == "content"
    assert [kind(name) for name in items(after)] == [1, 1, 1]


def test_changes_of_other_documents_leave_the_ranker_as_it_is(shop: Api) -> None:
    put_new(shop)
    ranker = shop.runtime.later_items.current.rankers
    put(shop, "i3", {"categories": ["hat"]})
    shop.run(shop.runtime.later_items.refresh())
    assert shop.runtime.later_items.current.rankers == ranker
    put(shop, SHOE, body(1))
    shop.run(shop.runtime.later_items.refresh())
    assert shop.runtime.later_items.current.rankers != ranker
    slate = get(shop, f"/v1/items/{SHOE}/similar", k=3, exclude=HAT)
    assert [kind(name) for name in items(slate)] == [1, 1, 1]


# --- the latest -------------------------------------------------------------------------------


def test_the_latest_items_come_first(shop: Api) -> None:
    put_new(shop)
    put(shop, "announced", {"available_from": "2099-01-01"})
    put(shop, "old stock", {"available_from": "2001-02-03"})
    follow(shop)
    slate = get(shop, "/v1/latest", k=3)
    assert slate["strategy"] == "latest"
    assert set(items(slate)[:2]) == {SHOE, HAT}
    assert "announced" not in items(get(shop, "/v1/latest", k=100))
    assert items(get(shop, "/v1/latest", k=100))[-1] == "old stock"
    assert slate["items"][0]["strategy"] == "latest"
    assert slate["items"][0]["score"] == pytest.approx(_today(), abs=1)
    hats = get(shop, "/v1/latest", k=5, category="hat")
    assert items(hats)[0] == HAT


def test_the_latest_items_have_pages_and_follow_feedback(shop: Api) -> None:
    put_new(shop)
    shop.rate("bob", "never described", 5)
    whole = items(get(shop, "/v1/latest", k=50))
    first = get(shop, "/v1/latest", k=20)
    second = get(shop, "/v1/latest", k=20, cursor=first["next_cursor"])
    assert items(first) + items(second) == whole[:40]
    named = get(shop, "/v1/users/ann/recommendations", model="latest", k=2)
    assert {*items(named)} == {SHOE, HAT}
    assert named["strategy"] == "latest"


def test_a_change_of_a_document_makes_no_item_newer_and_a_deletion_does(shop: Api) -> None:
    put_new(shop)
    born = get(shop, "/v1/items/i3")["created"]
    changed = put(shop, "i3", body(5))
    assert changed["created"] == born
    shop("PATCH", "/v1/items/i3", json={"features": {"price": 1}})
    assert get(shop, "/v1/items/i3")["created"] == born
    shop("DELETE", "/v1/items/i3")
    again = put(shop, "i3", body(3))
    assert again["created"] > born
    follow(shop)
    assert items(get(shop, "/v1/latest", k=1)) == ["i3"]
    shop.rate("bob", "by feedback", 4)
    assert get(shop, "/v1/items/by feedback")["created"] is None


def test_documents_of_before_have_no_time_and_come_last(shop: Api, redis_url: str) -> None:
    number = shop.run(shop.runtime.numbers.numbers(["of before"]))[0]
    with Redis.from_url(redis_url) as client:
        keys = NamespaceKeys(shop.settings.namespace)
        client.set(keys.item_document(number), '{"version":3,"categories":["hat"]}')
    put_new(shop)
    assert get(shop, "/v1/items/of before")["created"] is None
    assert put(shop, "of before", body(1))["created"] is None
    follow(shop)
    assert items(get(shop, "/v1/latest", k=100))[-1] == "of before"


# --- filters ----------------------------------------------------------------------------------


def _today() -> float:
    return datetime.now(UTC).timestamp() / 86_400


def test_filters_see_when_an_item_came(shop: Api) -> None:
    put(shop, "spring", {"available_from": "2021-03-01", "available_until": "2090-01-01"})
    put(shop, "summer", {"available_from": "2021-06-01T12:00:00+02:00"})
    yesterday = (datetime.now(UTC) - timedelta(days=1)).date().isoformat()

    def found(text: str) -> set[str]:
        follow(shop)
        slate = get(shop, "/v1/popular", k=100, filter=text)
        return {*items(slate)}

    assert found("available_from < '2021-05-01'") == {"spring"}
    assert found("available_from = '2021-06-01T10:00:00Z'") == {"summer"}
    assert found("available_from >= 1614556800 and available_from < 1622541601") == {
        "spring",
        "summer",
    }
    assert found("available_until > '2080'") == {"spring"}
    assert len(found(f"created > '{yesterday}'")) == N_ITEMS + 2
    assert found(f"created < '{yesterday}'") == set()
    # a feature of the same name comes first
    put(shop, "vintage", {"features": {"created": 1921}})
    assert found("created < 1922") == {"vintage"}
