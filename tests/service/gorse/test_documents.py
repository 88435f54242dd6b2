"""Users and items under /api: read as they were written, and the same as under /v1."""

from typing import Any

import pytest

from tests.api import Api

ITEM = {
    "ItemId": "x",
    "IsHidden": True,
    "Categories": ["Comedy", "Animation"],
    "Timestamp": "2026-11-18T12:00:00.5Z",
    "Labels": {"embedding": [0.1, 0.2], "year": 2015, "tags": ["a"], "deep": {"er": None}},
    "Comment": "Minions (2015)",
}
DONE = {"RowAffected": 1}


def test_an_item_is_read_as_it_was_written(api: Api) -> None:
    assert api("POST", "/api/item", json=ITEM).json() == DONE
    assert api("GET", "/api/item/x").json() == ITEM
    ours = api("GET", "/v1/items/x").json()
    assert ours["features"] == {"year": 2015, "tags": ["a"], "comment": "Minions (2015)"}
    assert ours["extra"] == {"labels": {"embedding": [0.1, 0.2], "deep": {"er": None}}}
    assert (ours["hidden"], ours["categories"]) == (True, ITEM["Categories"])
    assert ours["available_from"] == "2026-11-18T12:00:00.500Z"


LABELS: list[Any] = [
    None,
    "text",
    4.5,
    ["a", "b"],
    [1, 2],
    [],
    {},
    {"a": 1, "b": {"c": ["d"]}},
    {"labels": "x", "comment": "y", "no name": 1, "long": "x" * 1_001},
    {f"f{n}": n for n in range(100)},
]


@pytest.mark.parametrize(("kind", "name"), [("user", "UserId"), ("item", "ItemId")])
def test_labels_of_any_shape_are_read_as_they_were_written(api: Api, kind: str, name: str) -> None:
    for labels in LABELS:
        for comment in ("", "short", "long " * 300):
            body = {name: "one", "Labels": labels, "Comment": comment}
            assert api("POST", f"/api/{kind}", json=body).json() == DONE
            read = api("GET", f"/api/{kind}/one").json()
            assert (read["Labels"], read["Comment"]) == (labels, comment)
            # the document is one that our own routes read and change
            patched = api("PATCH", f"/v1/{kind}s/one", json={"features": {"new": 1}})
            assert patched.status_code == 200, patched.text


def test_a_patch_changes_what_it_names_and_succeeds_for_what_is_not_there(api: Api) -> None:
    api("POST", "/api/item", json=ITEM)
    patch = {"comment": "小黄人", "IsHidden": False, "Labels": None, "Timestamp": None}
    assert api("PATCH", "/api/item/x", json=patch).json() == DONE
    assert api("GET", "/api/item/x").json() == ITEM | {"Comment": "小黄人", "IsHidden": False}
    assert api("PATCH", "/api/item/nobody", json=patch).json() == DONE
    assert api("GET", "/api/item/nobody").text == "item nobody not found"
    api("POST", "/api/user", json={"UserId": "u", "Labels": {"a": 1}})
    assert api("PATCH", "/api/user/u", json={"Comment": "c"}).json() == DONE
    expected = {"UserId": "u", "Labels": {"a": 1}, "Comment": "c"}
    assert api("GET", "/api/user/u").json() == expected
    assert api("PATCH", "/api/user/nobody", json={"Comment": "c"}).json() == DONE
    assert api("GET", "/api/user/nobody").status_code == 404


def test_deletion_is_a_success_and_leaves_nothing(api: Api) -> None:
    api("POST", "/api/user", json={"UserId": "u"})
    api("POST", "/api/item", json=ITEM)
    for path in ("/api/user/u", "/api/item/x", "/api/user/nobody", "/api/item/nothing"):
        assert api("DELETE", path).json() == DONE
        assert api("GET", path).status_code == 404
    audited = api("GET", "/v1/audit").json()["items"]
    assert {one["act"] for one in audited} == {"deleteUser", "deleteItem"}
    # the log must not name who was deleted
    assert all("user-id" not in one["about"] for one in audited)


def test_categories_are_added_once_and_removed(api: Api) -> None:
    api("POST", "/api/item", json=ITEM)
    for _ in range(2):
        assert api("PUT", "/api/item/x/category/War%20films").json() == DONE
    categories = api("GET", "/api/item/x").json()["Categories"]
    assert categories == ["Comedy", "Animation", "War films"]
    assert api("DELETE", "/api/item/x/category/Comedy").json() == DONE
    assert api("GET", "/api/item/x").json()["Categories"] == ["Animation", "War films"]
    assert api("PUT", "/api/item/nothing/category/a").status_code == 404


@pytest.mark.parametrize(("kind", "name"), [("user", "UserId"), ("item", "ItemId")])
def test_pages_follow_the_bytes_of_ids(api: Api, kind: str, name: str) -> None:
    ids = ["1", "2", "10", "100", "Z", "a", "é", "ü", "\U0001f600", "\uffee"]
    rows = [{name: one, "Comment": one} for one in ids]
    rows.append({name: "1", "Comment": "of repeated ids the first counts"})
    assert api("POST", f"/api/{kind}s", json=rows).json() == {"RowAffected": len(rows)}
    found, cursor = list[Any](), ""
    while True:
        page = api("GET", f"/api/{kind}s", params={"n": 3, "cursor": cursor}).json()
        found += page[f"{kind.capitalize()}s"]
        cursor = page["Cursor"]
        if not cursor:
            break
    assert [one[name] for one in found] == sorted(ids, key=str.encode)
    assert all(one["Comment"] == one[name] for one in found)
    later = {name: "0", "Comment": "0"}
    api("POST", f"/api/{kind}", json=later)
    first = api("GET", f"/api/{kind}s", params={"n": 1}).json()[f"{kind.capitalize()}s"]
    assert first[0][name] == "0"


def test_what_cannot_be_read_is_a_400_in_plain_text(api: Api) -> None:
    bodies: list[tuple[str, Any, str]] = [
        ("user", {"Labels": {}}, "UserId"),
        ("user", {"UserId": "a\nb"}, "control character"),
        ("user", {"UserId": 7}, "UserId must be a text"),
        ("item", {"ItemId": "x", "Timestamp": "soon"}, "'soon' is no time"),
        ("item", {"ItemId": "x", "Categories": [1]}, "categories"),
        ("item", {"ItemId": "x", "IsHidden": "no"}, "hidden"),
        ("item", [], "objects"),
    ]
    for kind, body, says in bodies:
        answer = api("POST", f"/api/{kind}", json=body)
        assert (answer.status_code, answer.headers["content-type"][:10]) == (400, "text/plain")
        assert says in answer.text


def test_times_are_read_in_many_forms_and_written_in_one(api: Api) -> None:
    for given, read in [
        ("2022-02-24", "2022-02-24T00:00:00Z"),
        ("May 8, 2009", "2009-05-08T00:00:00Z"),
        ("1384216367", "2013-11-12T00:32:47Z"),
        ("1384216367111", "2013-11-12T00:32:47.111Z"),
        ("2020-01-02T03:04:05.120+01:00", "2020-01-02T02:04:05.12Z"),
        ("Mon, 02 Jan 2006 15:04:05 GMT", "2006-01-02T15:04:05Z"),
        ("2014/04/26", "2014-04-26T00:00:00Z"),
        ("1940-01-01", "1940-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("", "0001-01-01T00:00:00Z"),
    ]:
        api("POST", "/api/item", json={"ItemId": "x", "Timestamp": given})
        assert api("GET", "/api/item/x").json()["Timestamp"] == read
