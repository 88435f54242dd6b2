"""Both clients: what they send, what they return, and the errors that they raise."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from hedgerow_client import HedgerowError, errors, requests
from tests.clients.python.both import Opened

ODD_IDS = ["AC/DC", "..", ".", "a b+c%2F?#", "naïve", "{item}"]


def test_what_was_sent_is_recommended_and_predicted(client: Any) -> None:
    rows = [
        {"user": user, "item": item, "rating": 5}
        for user, items in {"ada": "ab", "grace": "abc"}.items()
        for item in items
    ]
    written = client.send(rows, wait="learned")
    assert (written["accepted"], written["rejected"]) == (5, [])
    slate = client.recommend("ada", k=1, exclude_seen=True, min_sequence=written["sequence"])
    assert [one["item"] for one in slate["items"]] == ["c"]
    assert client.predict_rating("ada", "c")["user"] == "ada"


def test_an_id_may_hold_any_character(client: Any) -> None:
    for item in ODD_IDS:
        assert client.write_item(item, {"categories": ["odd"]})["item"] == item
        assert client.get_item(item)["categories"] == ["odd"]
        assert client.change_item(item, {"hidden": True}, if_match="1")["version"] == 2


def test_an_iterator_goes_over_all_pages(client: Any) -> None:
    client.write_items([{"item": f"i{n:02}"} for n in range(23)])
    assert [one["item"] for one in client.iterate_items(limit=5)] == [f"i{n:02}" for n in range(23)]
    written = client.send([{"user": "ada", "item": f"i{n}", "kind": "view"} for n in range(12)])
    client.wait_until_learned(written["sequence"])
    assert len(list(client.iterate_history("ada", limit=5))) == 12
    shown = [one["item"] for one in client.iterate_popular(k=5)]
    assert len(shown) == len(set(shown)) == 23 + 12 - 2


def test_lists_for_many_users_come_line_by_line(client: Any) -> None:
    # only a line feed ends a line
    odd = "a\u2028b\u2029c"
    client.send([{"user": "ada", "item": odd, "rating": 5}], wait="learned")
    ada, nobody = client.recommend_to_many({"users": ["ada", ""], "exclude_seen": False})
    assert [one["item"] for one in ada["items"]] == [odd]
    assert nobody["error"]["code"] == "invalid_id"


WRONG: list[tuple[Callable[[Any], Any], type[errors.ApiError], str]] = [
    (lambda c: c.get_item("nothing"), errors.NotFound, "not_found"),
    (lambda c: c.recommend("ada", k=0), errors.InvalidRequest, "invalid_request"),
    (lambda c: c.write_item("a", {}, if_match="7"), errors.Conflict, "version_conflict"),
    (lambda c: c.send({"user": "", "item": "a"}), errors.InvalidRequest, "invalid_id"),
    (lambda c: c.send([{"user": "ada"}]), errors.NothingAccepted, "nothing_accepted"),
]


def test_an_error_says_what_is_wrong(client: Any) -> None:
    for call, kind, code in WRONG:
        with pytest.raises(kind) as caught:
            call(client)
        error = caught.value
        assert error.code == code
        assert error.detail
        assert error.request_id
        assert error.detail in str(error)
        assert error.request_id in str(error)


def test_nothing_accepted_says_why_of_each_row(client: Any) -> None:
    with pytest.raises(errors.NothingAccepted) as caught:
        client.send([{"user": "ada", "item": "a", "rating": 99}])
    assert [row["code"] for row in caught.value.rejected] == ["out_of_scale"]


def test_an_answer_that_is_not_the_service_s_is_an_error_with_its_text(kind: str, url: str) -> None:
    with Opened(kind, f"{url}/elsewhere") as client, pytest.raises(errors.NotFound):
        client.get_stats()


def test_an_answer_without_json_is_an_error_of_the_client() -> None:
    with pytest.raises(errors.ApiError, match="no JSON but '<html>'; is this the address"):
        requests.read(requests.READINESS, httpx.Response(200, text="<html>"))


def test_an_error_of_the_client_is_caught_by_one_name() -> None:
    kinds = [
        one
        for one in vars(errors).values()
        if isinstance(one, type) and one.__module__ == errors.__name__
    ]
    assert all(issubclass(one, HedgerowError) for one in kinds)
    # each is in the tree that the module shows
    assert [one.__name__ for one in kinds if one.__name__ not in (errors.__doc__ or "")] == []
