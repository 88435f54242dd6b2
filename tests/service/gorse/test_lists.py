"""Lists under /api: recommendations, sessions, latest, popular, similar, search."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from service.settings import Settings
from tests.api import Api, learning
from tests.server import wait_until
from tests.service.gorse.catalogue import ITEMS, USERS

SCORES = {"x-api-version": "2"}


@pytest.fixture(scope="module")
def shop(redis_server: str) -> Iterator[Api]:
    """An application with the catalogue, and some feedback."""
    settings = Settings(namespace="gorse-lists", wait_timeout_ms=60_000)
    with Api(settings, redis_server) as api, learning(api.settings, redis_server):
        api.ready()
        assert api("POST", "/api/users", json=USERS).is_success
        assert api("POST", "/api/items", json=ITEMS).is_success
        api("POST", "/api/item", json={"ItemId": "gone", "IsHidden": True, "Comment": "Hidden"})
        for user, item in (("1", "100"), ("10", "100"), ("1", "1"), ("10", "2"), ("100", "100")):
            put(api, "like", user, item)
        wait_until(lambda: len(ids(api, "/api/latest?n=100")) == len(ITEMS))
        api.run(api.runtime.popularity.refresh())
        api.run(api.runtime.latest.refresh())
        yield api


def put(api: Api, kind: str, user: str, item: str) -> None:
    row = {"FeedbackType": kind, "UserId": user, "ItemId": item, "Value": 1}
    assert api("PUT", "/api/feedback", json=[row]).json() == {"RowAffected": 1}


def ids(api: Api, path: str, **headers: str) -> list[str]:
    answer = api("GET", path, headers=SCORES | headers)
    assert answer.status_code == 200, answer.text
    return [score["Id"] for score in answer.json() or ()]


def test_somebody_unknown_gets_the_newest_items(shop: Api) -> None:
    assert ids(shop, "/api/recommend/nobody/?n=3") == ["315", "1432", "918"]
    plain = shop("GET", "/api/recommend/nobody", params={"n": 2, "offset": 1}).json()
    assert plain == ["1432", "918"]
    [score] = shop("GET", "/api/recommend/nobody?n=1", headers=SCORES).json()
    released = datetime(1998, 10, 23, tzinfo=UTC).timestamp()
    assert score == {"Id": "315", "Score": released}
    assert shop("GET", "/api/recommend/nobody?category=Nothing").json() == []


def test_an_item_must_have_all_categories(shop: Api) -> None:
    assert ids(shop, "/api/recommend/nobody?category=Drama&category=Thriller") == ["315", "100"]
    assert ids(shop, "/api/recommend/nobody/War?category=Drama") == ["10"]
    assert ids(shop, "/api/latest/Children%27s") == ["1", "404"]
    wanted = "category=Children%27s&category=Comedy&category="
    assert ids(shop, f"/api/latest?{wanted}") == ["1"]


def test_what_a_user_has_any_feedback_of_is_left_out(shop: Api) -> None:
    put(shop, "read", "reader", "315")
    shown = ids(shop, "/api/recommend/reader?n=0")
    assert "315" not in shown
    assert len(shown) == len(ITEMS) - 1
    assert ids(shop, "/api/latest?n=2&user-id=reader") == ["1432", "918"]
    assert "315" in ids(shop, "/api/collaborative-filtering/reader?n=100")
    by_reader = ids(shop, "/api/collaborative-filtering/reader?n=100&user-id=reader")
    assert "315" not in by_reader


def test_what_a_full_history_no_longer_has_stays_left_out(redis_url: str) -> None:
    settings = Settings(
        namespace="gorse-trimmed", partitions=1, history_limit=16, wait_timeout_ms=60_000
    )
    with Api(settings, redis_url) as api, learning(api.settings, redis_url):
        api.ready()
        items = [f"i{n:02}" for n in range(40)]
        api("POST", "/api/items", json=[{"ItemId": item} for item in items])
        for item in items[:30]:
            put(api, "like", "keen", item)
        wait_until(lambda: len(ids(api, "/api/latest?n=100")) == len(items))
        assert len(api("GET", "/api/user/keen/feedback").json()) < 30
        assert {*ids(api, "/api/recommend/keen?n=0")} == {*items[30:]}


def test_leaderboards_have_our_names(shop: Api) -> None:
    assert ids(shop, "/api/non-personalized/popular?n=1") == ["100"]
    assert ids(shop, "/api/non-personalized/trending?n=1") == ["100"]
    assert ids(shop, "/api/popular/Crime?n=1") == ["100"]
    assert ids(shop, "/api/non-personalized/most_starred_weekly") == []


def test_a_session_is_answered_without_what_it_names(shop: Api) -> None:
    rows = [{"FeedbackType": "like", "ItemId": "1"}, {"FeedbackType": "read", "ItemId": "315"}]
    scores = shop("POST", "/api/session/recommend?n=100", json=rows).json()
    assert {score["Id"] for score in scores} == {one["ItemId"] for one in ITEMS} - {"1", "315"}
    assert shop("POST", "/api/session/recommend/Nothing", json=rows).json() is None


def test_items_and_users_have_neighbours(shop: Api) -> None:
    similar = ids(shop, "/api/item/1/neighbors?n=20")
    assert "1" not in similar
    assert ids(shop, "/api/item-to-item/anything/1?n=20") == similar
    assert ids(shop, "/api/item/unknown/neighbors") == []
    too_many = shop("GET", "/api/user/1/neighbors?n=600&offset=401")
    assert (too_many.status_code, too_many.text[:18]) == (400, "offset + n is 1001")
    assert ids(shop, "/api/user/1/neighbors") == ids(shop, "/api/user-to-user/similar/1")


def test_a_list_may_write_what_it_shows(shop: Api) -> None:
    path = "/api/recommend/watcher?n=2&write-back-type=read"
    shown = ids(shop, path)
    rows = shop("GET", "/api/user/watcher/feedback/read").json()
    assert sorted(row["ItemId"] for row in rows) == sorted(shown)
    assert not {*shown} & {*ids(shop, "/api/recommend/watcher?n=0")}
    later = ids(shop, "/api/recommend/later?n=2&write-back-type=read&write-back-delay=1h")
    assert shop("GET", "/api/user/later/feedback").json() == []
    assert ids(shop, "/api/recommend/later?n=2") == later
    wrong = shop("GET", f"{path}&write-back-delay=soon")
    assert (wrong.status_code, wrong.text[:16]) == (400, "write-back-delay")
    endless = shop("GET", f"{path}&write-back-delay=99999999h")
    assert endless.status_code == 400
    other = shop("GET", path, headers={"sec-fetch-site": "cross-site"})
    assert other.status_code == 403


def test_items_are_found_by_their_words(shop: Api) -> None:
    def found(question: str, **more: Any) -> list[str]:
        page = shop("GET", "/api/items", params={"q": question, **more}).json()
        assert page["Cursor"] == ""
        return [item["ItemId"] for item in page["Items"]]

    assert found("Toy Story", n=3) == ["1"]
    assert found("pinocchio") == ["404", "1060"]
    assert found("STORY") == ["1", "478"]
    assert found("hidden") == ["gone"]
    assert found("toy pinocchio") == []
    assert shop("GET", "/api/items?q=%21%21").status_code == 400
