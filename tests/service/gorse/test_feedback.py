"""Feedback under /api: records of (type, user, item), read at once after they are written."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.api import Api

AT, LATER = "2026-11-18T12:00:00Z", "2026-11-19T12:00:00Z"


def record(kind: str, item: str, value: float = 1.0, at: str = AT, user: str = "u") -> Any:
    return {"FeedbackType": kind, "UserId": user, "ItemId": item, "Value": value, "Timestamp": at}


def write(api: Api, *records: Any, method: str = "POST") -> None:
    answer = api(method, "/api/feedback", json=[*records])
    assert answer.json() == {"RowAffected": len(records)}, answer.text


def of_user(api: Api, path: str = "") -> list[tuple[str, str, float]]:
    rows = api("GET", f"/api/user/u/feedback{path}").json()
    return [(row["FeedbackType"], row["ItemId"], row["Value"]) for row in rows]


def test_a_post_adds_to_the_value_and_a_put_replaces_it(api: Api) -> None:
    write(api, record("read", "x", 2, LATER))
    write(api, record("read", "x", 3, AT))
    [row] = api("GET", "/api/feedback/u/x").json()
    assert row == {
        **record("read", "x", 5),
        "Updated": LATER,
        "Comment": "",
        "Labels": None,
    }
    write(api, record("read", "x", 7, LATER), method="PUT")
    assert api("GET", "/api/feedback/read/u/x").json() == row | {"Value": 7, "Timestamp": LATER}
    write(api, record("read", "x", 1, LATER))
    assert of_user(api) == [("read", "x", 8)]


def test_any_type_is_kept_and_has_a_kind(api: Api) -> None:
    write(
        api,
        record("rating", "a", 4),
        record("rating", "b", 9),
        record("star", "c", 0),
        record("like", "d"),
        record("watch a lot!", "e", -0.25),
    )
    assert of_user(api) == [
        ("like", "d", 1),
        ("rating", "a", 4),
        ("rating", "b", 9),
        ("star", "c", 0),
        ("watch a lot!", "e", -0.25),
    ]
    ours = api("GET", "/v1/users/u/ratings").json()["items"]
    assert {one["item"]: (one["kind"], one["rating"]) for one in ours} == {
        "a": ("rating", 4),
        # beyond the scale of 1 to 5
        "b": ("view", None),
        "c": ("like", None),
        "d": ("like", None),
        "e": ("view", None),
    }
    assert api("GET", "/api/user/u").json() == {"UserId": "u", "Labels": None, "Comment": ""}


def test_types_are_chosen_by_expressions(api: Api) -> None:
    write(api, record("rating", "a", 4), record("rating", "b", 3), record("read", "a", 9))
    assert of_user(api, "/rating") == [("rating", "a", 4), ("rating", "b", 3)]
    assert of_user(api, "/rating%3E=4") == [("rating", "a", 4)]
    assert of_user(api, "/rating%3C4") == [("rating", "b", 3)]
    wrong = api("GET", "/api/user/u/feedback/a-b")
    assert (wrong.status_code, wrong.text[:21]) == (400, "invalid feedback type")


def test_of_a_list_the_first_record_of_a_key_counts(api: Api) -> None:
    write(api, record("read", "x", 2), record("read", "x", 3), record("read", "y", 4))
    assert of_user(api) == [("read", "x", 2), ("read", "y", 4)]


def test_a_list_with_a_bad_row_writes_nothing(api: Api) -> None:
    future = (datetime.now(UTC) + timedelta(days=30)).isoformat()
    for bad in (
        record("read", ""),
        record("", "x"),
        record("read", "x", at="whenever"),
        record("read", "x", at=future),
        record("t" * 65, "x"),
        record("read", "x") | {"Value": "1"},
        record("read", "x") | {"Value": True},
        record("read", "x", 1e39),
        "no object",
    ):
        answer = api("POST", "/api/feedback", json=[record("read", "ok"), bad])
        assert (answer.status_code, answer.headers["content-type"][:10]) == (400, "text/plain")
    assert api("GET", "/api/user/u/feedback").json() == []
    assert api(
        "POST",
        "/api/feedback",
        json=None,
        content=b"null",
        headers={"content-type": "application/json"},
    ).json() == {"RowAffected": 0}


def test_deletions_say_how_many_records_there_were(api: Api) -> None:
    write(api, record("read", "x", 2), record("star", "x"), record("rating", "x", 5))
    write(api, record("read", "y"))
    assert api("DELETE", "/api/feedback/read/u/x").json() == {"RowAffected": 1}
    assert of_user(api) == [("rating", "x", 5), ("read", "y", 1), ("star", "x", 1)]
    assert api("DELETE", "/api/feedback/read/u/x").json() == {"RowAffected": 0}
    assert api("DELETE", "/api/feedback/u/x").json() == {"RowAffected": 2}
    assert of_user(api) == [("read", "y", 1)]
    assert api("DELETE", "/api/feedback/u/never").json() == {"RowAffected": 0}
    write(api, record("read", "x", 3))
    assert of_user(api) == [("read", "x", 3), ("read", "y", 1)]


def test_a_deletion_finds_what_is_dated_ahead(api: Api) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=20)).isoformat()
    write(api, record("read", "x", 1, soon), record("star", "x"))
    assert of_user(api) == [("star", "x", 1)]
    assert api("DELETE", "/api/feedback/read/u/x").json() == {"RowAffected": 1}
    assert api("DELETE", "/api/feedback/read/u/x").json() == {"RowAffected": 0}
    assert of_user(api) == [("star", "x", 1)]


def test_a_deletion_keeps_and_finds_what_was_acknowledged_just_before(api: Api) -> None:
    for _ in range(3):
        # these are answered before they are learned
        for kind in ("like", "view"):
            event = {"user": "u", "item": "x", "kind": kind}
            assert api("POST", "/v1/events", json=[event]).is_success
        assert api("DELETE", "/api/feedback/view/u/x").json() == {"RowAffected": 1}
    assert len(api("GET", "/v1/users/u/ratings").json()["items"]) == 3


def test_contexts_of_what_a_deletion_keeps_are_counted_once(api: Api) -> None:
    write(api, record("read", "x"), record("star", "x"))

    def counted() -> Any:
        return api("GET", "/v1/stats/contexts").json()["contexts"]

    before = counted()
    assert before
    assert api("DELETE", "/api/feedback/read/u/x").json() == {"RowAffected": 1}
    assert counted() == before
    assert of_user(api) == [("star", "x", 1)]


def test_what_is_dated_ahead_appears_when_its_time_has_come(api: Api) -> None:
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    write(api, record("read", "x", 1, soon), record("read", "y"))
    assert of_user(api) == [("read", "y", 1)]


def test_a_record_that_is_not_there_is_an_empty_object_in_plain_text(api: Api) -> None:
    answer = api("GET", "/api/feedback/read/u/x")
    assert (answer.status_code, answer.text) == (200, "{}")
    assert answer.headers["content-type"].startswith("text/plain")
    assert api("GET", "/api/feedback/u/x").json() == []


@pytest.mark.parametrize("kind", [None, "read"])
def test_pages_hold_every_record_once(api: Api, kind: str | None) -> None:
    users, items = [f"u{n}" for n in range(5)], [f"i{n}" for n in range(4)]
    rows = [record(t, i, user=u) for u in users for i in items for t in ("read", "star")]
    write(api, *rows)
    path, found, cursor = f"/api/feedback/{kind}" if kind else "/api/feedback", list[Any](), ""
    while True:
        page = api("GET", path, params={"n": 3, "cursor": cursor}).json()
        found += page["Feedback"]
        cursor = page["Cursor"]
        if not cursor:
            break
    keys = [(row["UserId"], row["FeedbackType"], row["ItemId"]) for row in found]
    kinds = [kind] if kind else ["read", "star"]
    assert keys == [(u, t, i) for u in users for t in kinds for i in items]


def test_the_feedback_of_an_item_is_found(api: Api) -> None:
    write(api, *[record("read", "x", user=user) for user in ("a", "b")], record("star", "y"))
    rows = api("GET", "/api/item/x/feedback").json()
    assert [row["UserId"] for row in rows] == ["a", "b"]
    assert api("GET", "/api/item/x/feedback/star").json() == []
    assert len(api("GET", "/api/item/y/feedback/star").json()) == 1


def test_the_types_of_the_settings_have_their_kinds(api: Api) -> None:
    chosen = api.runtime.settings.gorse_kinds
    assert chosen == {"star": "like", "read": "view", "*": "view"}
