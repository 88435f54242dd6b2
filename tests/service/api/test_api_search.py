"""Search of items by words, and what is kept with documents and read by nothing."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from service.settings import Settings
from tests.api import JSON, Api, check_problem
from tests.server import wait_until

TITLES = {
    "a": {"title": "Amélie"},
    "b": {"title": "The Fabulous Destiny of Amelie Poulain"},
    "c": {"name": "Ponyo", "comment": "千と千尋の神隠し"},
    "d": {"title": "toy story", "comment": "STORY of toys"},
    "e": {"title": "Toy Story", "year": 1995},
    "f": {"title": ["Heat", "Story"]},
    "g": {"about": "amelie"},
}


@pytest.fixture(scope="module")
def films(redis_server: str) -> Iterator[Api]:
    with Api(Settings(namespace="films-to-search"), redis_server) as api:
        api.ready()
        for item, features in TITLES.items():
            assert api("PUT", f"/v1/items/{item}", json={"features": features}).is_success
        wait_until(lambda: found(api, "heat"))
        yield api


def found(api: Api, question: str, **more: Any) -> list[str]:
    page = api("GET", "/v1/items", params={"q": question, **more}).json()
    return [item["item"] for item in page["items"]]


def test_all_words_must_be_there_whatever_their_case_and_accents(films: Api) -> None:
    assert found(films, "amelie") == found(films, "  AMÉLIE!") == ["a", "b"]
    assert found(films, "amelie destiny") == ["b"]
    assert found(films, "amelie heat") == []
    assert found(films, "heat story") == ["f"]
    assert found(films, "千尋") == ["c"]
    assert found(films, "ameli") == []


def test_the_item_that_says_little_else_comes_first(films: Api) -> None:
    # all of e, four fifths of d
    assert found(films, "toy story") == ["e", "d"]
    assert found(films, "story") == ["e", "f", "d"]


def test_pages_of_a_search_hold_each_item_once(films: Api) -> None:
    pages, cursor = list[str](), None
    while True:
        parameters = {"q": "story", "limit": 1} | ({"cursor": cursor} if cursor else {})
        page = films("GET", "/v1/items", params=parameters).json()
        pages += [item["item"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert pages == found(films, "story")
    first = films("GET", "/v1/items", params={"q": "story", "limit": 1}).json()["next_cursor"]
    other = films("GET", "/v1/items", params={"q": "toy", "limit": 1, "cursor": first})
    check_problem(other, 422, "invalid_cursor")


def test_a_search_follows_what_is_written_and_deleted(films: Api) -> None:
    films("PUT", "/v1/items/new", json={"features": {"title": "Zanzibar"}, "hidden": True})
    wait_until(lambda: found(films, "zanzibar") == ["new"])
    films("PUT", "/v1/items/new", json={"features": {"title": "Elsewhere"}})
    wait_until(lambda: found(films, "elsewhere") == ["new"])
    assert found(films, "zanzibar") == []


@pytest.mark.parametrize("question", ["", "!?", "a " * 21, "x" * 201])
def test_a_question_needs_words(films: Api, question: str) -> None:
    check_problem(films("GET", "/v1/items", params={"q": question}), 422, "invalid_request")


EXTRA = {"image": "https://shop.example/1.png", "sizes": [1, 2.5, None, {"deep": True}]}


def test_what_is_kept_with_a_document_is_read_as_it_was_written(films: Api) -> None:
    for path in ("/v1/items/kept", "/v1/users/kept"):
        assert films("PUT", path, json={"extra": EXTRA}).json()["extra"] == EXTRA
        patched = films("PATCH", path, json={"extra": {"image": None, "new": 1}}).json()
        assert patched["extra"] == {"sizes": EXTRA["sizes"], "new": 1}
        assert films("GET", path).json()["extra"] == patched["extra"]


def test_what_cannot_be_kept_is_refused(films: Api) -> None:
    deep: Any = 1
    for _ in range(16):
        deep = [deep]
    for wrong in ({"a": deep}, {"a": 2**63}, {"a": "\ud800"}, ["a"]):
        body = json.dumps({"extra": wrong})
        answer = films("PUT", "/v1/items/kept", content=body, headers=JSON)
        check_problem(answer, 422, "invalid_request")
    assert films("PUT", "/v1/items/kept", json={"extra": {"a": deep[0]}}).status_code == 200
