"""Documents of items and users: validated, versioned, without lost updates, listed by page."""

import asyncio
import json
import re
from typing import Any

import pytest

from service.api.catalogue.schemas import MAX_DOCUMENT_BYTES
from service.settings import Settings
from tests.api import JSON, NDJSON, Api, check_problem, learning
from tests.server import wait_until
from tests.service.shop import get

ITEM = {
    "categories": ["film", "drama"],
    "features": {"title": "x", "year": 2024, "score": 0.5, "new": True, "tags": ["a", "b"]},
    "hidden": True,
    "available_from": "2026-11-01T00:00:00+01:00",
    "available_until": None,
}


def test_an_item_is_read_as_it_was_written(api: Api) -> None:
    put = api("PUT", "/v1/items/x", json=ITEM)
    assert put.status_code == 200
    expected = ITEM | {"item": "x", "version": 1, "available_from": "2026-10-31T23:00:00.000Z"}
    expected |= {"created": put.json()["created"], "extra": {}}
    assert put.json() == expected
    got = api("GET", "/v1/items/x")
    assert got.json() == expected
    assert got.headers["etag"] == put.headers["etag"] == '"1"'
    replaced = api("PUT", "/v1/items/x", json={}).json()
    assert (replaced["version"], replaced["categories"], replaced["hidden"]) == (2, [], False)


def test_a_patch_changes_what_it_names(api: Api) -> None:
    api("PUT", "/v1/items/x", json=ITEM)
    patch = {"features": {"year": None, "country": "FI"}, "available_from": None}
    patched = api("PATCH", "/v1/items/x", json=patch).json()
    assert patched["features"] == {
        "title": "x",
        "score": 0.5,
        "new": True,
        "tags": ["a", "b"],
        "country": "FI",
    }
    assert (patched["available_from"], patched["hidden"], patched["version"]) == (None, True, 2)
    bad = api("PATCH", "/v1/items/x", json={"features": {"year": {"deep": {"er": {"x": 1}}}}})
    assert (bad.status_code, bad.json()["code"]) == (422, "invalid_request")
    assert api("GET", "/v1/items/x").json()["version"] == 2


def test_a_date_alone_is_its_midnight_in_utc(api: Api) -> None:
    item = api("PUT", "/v1/items/dated", json={"available_until": "2026-12-01"}).json()
    assert item["available_until"] == "2026-12-01T00:00:00.000Z"


@pytest.mark.parametrize(
    "given",
    [
        "2026-11-01T01:00:00.25+01:00",
        "2026-11-01T00:00:00.250999Z",
        1_793_491_200.25,
        1_793_491_200_250,
        1_793_491_200_250.0,
    ],
)
def test_a_time_is_read_in_many_formats_and_written_in_one(api: Api, given: str | float) -> None:
    for field in ("available_from", "available_until"):
        written = api("PUT", "/v1/items/timed", json={field: given})
        assert written.json()[field] == "2026-11-01T00:00:00.250Z"
        assert api("PATCH", "/v1/items/timed", json={field: given}).json() == (
            written.json() | {"version": written.json()["version"] + 1}
        )
    sent = api("POST", "/v1/items", json=[{"item": "timed", "available_from": given}])
    assert sent.json()["accepted"] == 1
    assert api("GET", "/v1/items/timed").json()["available_from"] == "2026-11-01T00:00:00.250Z"


def test_a_time_that_was_stored_in_another_format_is_shown_in_the_one(api: Api) -> None:
    [number] = api.run(api.runtime.numbers.numbers(["old"]))
    body = {"available_from": "2026-11-01T00:00:00Z", "available_until": "2026-12-01T00:00:00.5Z"}
    api.run(api.runtime.catalogue.replace_items({number: body}))
    shown = api("GET", "/v1/items/old").json()
    times = shown["available_from"], shown["available_until"]
    assert times == ("2026-11-01T00:00:00.000Z", "2026-12-01T00:00:00.500Z")
    assert api("GET", "/v1/stats").json()["created"].endswith("Z")
    key = api("POST", "/v1/admin/keys", json={"role": "admin", "name": "n"}).json()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", key["created"])


@pytest.mark.parametrize(
    "body",
    [
        b'{"features": {"a": NaN}}',
        b'{"features": {"a": 1e999}}',
        b'{"features": {"a": null}}',
        b'{"features": {"a": {"b": 1}}}',
        b'{"features": {"a": [1]}}',
        b'{"features": {"a b": 1}}',
        b'{"features": {"": 1}}',
        b'{"features": {"a": "\\ud800"}}',
        b'{"features": [1]}',
        b'{"categories": "film"}',
        b'{"categories": [1]}',
        b'{"categories": [""]}',
        b'{"hidden": "yes"}',
        b'{"hidden": 1}',
        b'{"available_from": "2026-11-31"}',
        b'{"available_from": "2026-11-1"}',
        b'{"available_from": "2026-11-01T00:00:00"}',
        b'{"available_from": true}',
        b'{"available_from": [1]}',
        b'{"available_from": 1e15}',
        b'{"available_from": -9e10}',
        b'{"available_from": 1e400}',
        b'{"available_from": NaN}',
        b'{"available_from": "1793491200"}',
        b'{"colour": "green"}',
        json.dumps({"features": {f"f{i}": 1 for i in range(65)}}).encode(),
        json.dumps({"features": {"a": "x" * 1_001}}).encode(),
    ],
)
def test_documents_are_strict(api: Api, body: bytes) -> None:
    for path in ("/v1/items/x", "/v1/users/x"):
        answer = api("PUT", path, content=body, headers=JSON)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    line = b'{"item": "x", ' + body[1:]
    answer = api("POST", "/v1/items", content=line, headers=NDJSON)
    assert answer.status_code == 422
    assert answer.json()["rejected"][0]["code"] in {"invalid_document", "malformed_json"}
    assert api("GET", "/v1/items/x").status_code == 404


def test_a_time_beyond_the_calendar_of_utc_is_refused(api: Api) -> None:
    line = '{"item": "b", "available_until": "9999-12-31T23:59:59-14:00"}\n{"item": "c"}\n'
    early = {"available_from": "0001-01-01T00:00:00+14:00"}
    assert api("PUT", "/v1/items/a", json=early).status_code == 422
    answer = api("POST", "/v1/items", content=line, headers=NDJSON).json()
    assert answer["accepted"] == 1
    assert [one["code"] for one in answer["rejected"]] == ["invalid_document"]


def test_a_document_is_bounded(api: Api) -> None:
    body = {"features": {f"f{i}": ["x" * 1_000] * 2 for i in range(60)}}
    assert len(json.dumps(body)) > MAX_DOCUMENT_BYTES
    answer = api("PUT", "/v1/items/x", json=body)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_if_match_writes_only_over_the_version_it_names(api: Api) -> None:
    for path in ("/v1/items/x", "/v1/users/x"):
        api("PUT", path, json={"features": {"a": 1}})
        good = api("PATCH", path, json={"features": {"a": 2}}, headers={"if-match": '"1"'})
        assert good.json()["version"] == 2
        for version in ('"1"', "3"):
            stale = api("PUT", path, json={}, headers={"if-match": version})
            assert (stale.status_code, stale.json()["code"]) == (409, "version_conflict")
        odd = api("PUT", path, json={}, headers={"if-match": "x"})
        assert odd.status_code == 422
        assert api("GET", path).json()["features"] == {"a": 2}


def test_no_change_of_many_at_once_is_lost(api: Api) -> None:
    api("PUT", "/v1/items/x", json={})

    async def patch_all() -> list[int]:
        patches = [{"features": {f"f{i}": i}} for i in range(12)]
        answers = [api.client.patch("/v1/items/x", json=patch) for patch in patches]
        return [answer.status_code for answer in await asyncio.gather(*answers)]

    assert api.run(patch_all()) == [200] * 12
    final = api("GET", "/v1/items/x").json()
    assert final["features"] == {f"f{i}": i for i in range(12)}
    assert final["version"] == 13


def test_many_items_are_sent_as_lines(api: Api) -> None:
    lines = [json.dumps({"item": f"i{i}", "features": {"n": i}}) for i in range(2_000)]
    lines[7:7] = ["", "{", '{"item": ""}', '{"item": "y", "colour": 1}', '{"hidden": true}']
    lines += [json.dumps({"item": "i0", "features": {"n": -1}})]
    answer = api("POST", "/v1/items", content="\n".join(lines).encode(), headers=NDJSON)
    assert answer.status_code == 200
    summary = answer.json()
    assert (summary["accepted"], summary["rejected_total"], summary["lines"]) == (2_001, 4, 2_006)
    assert [row["line"] for row in summary["rejected"]] == [9, 10, 11, 12]
    assert api("GET", "/v1/items/i0").json()["features"] == {"n": -1}
    assert api("GET", "/v1/items/i1999").json()["version"] == 1


@pytest.mark.parametrize("one", ["item", "user"])
def test_many_documents_are_sent_as_an_array(api: Api, one: str) -> None:
    route = f"/v1/{one}s"
    rows: list[Any] = [{one: f"x{i}", "features": {"n": i}} for i in range(500)]
    rows[3:3] = [{one: ""}, 7, {one: "y", "colour": 1}, {"features": {}}, [], {one: "x0" * 40_000}]
    rows += [{one: "x0", "features": {"n": -1}}]
    answer = api("POST", route, json=rows)
    assert answer.status_code == 200
    summary = answer.json()
    assert (summary["accepted"], summary["rejected_total"], summary["lines"]) == (501, 6, 507)
    assert [row["index"] for row in summary["rejected"]] == [3, 4, 5, 6, 7, 8]
    assert {row["code"] for row in summary["rejected"][:5]} == {"invalid_document"}
    assert summary["rejected"][5]["code"] == "line_too_long"
    assert api("GET", f"{route}/x0").json()["features"] == {"n": -1}
    assert api("GET", f"{route}/x499").json()["version"] == 1
    assert api("POST", route, json={one: "alone"}).json()["accepted"] == 1
    assert api("GET", f"{route}/alone").json()["version"] == 1


def test_an_array_of_documents_that_cannot_be_read_says_what_to_send(
    redis_url: str, namespace: str
) -> None:
    settings = Settings(namespace=namespace, max_array=2, max_body_bytes=4_096)
    with Api(settings, redis_url) as api:
        for body, status, code, says in (
            (b'[{"item": "a"}', 422, "malformed_json", "with all its brackets and quotes closed"),
            (b'"a"', 422, "invalid_document", '[{"item": "...", ...}, ...]'),
            (b"", 422, "invalid_document", '[{"item": "...", ...}, ...]'),
            (b"[]", 422, "nothing_accepted", "an empty array is refused too"),
            (b"[7]", 422, "nothing_accepted", "`rejected` says why"),
            (b'[{"item": "a"}, {"item": "b"}, {"item": "c"}]', 413, "too_large", "at most 2 rows"),
            (b" " * 5_000, 413, "too_large", "longer than 4096 bytes"),
        ):
            answer = api("POST", "/v1/items", content=body, headers=JSON)
            assert says in check_problem(answer, status, code)["detail"]
        assert api("GET", "/v1/items").json()["items"] == []


def test_many_users_are_sent_as_lines(api: Api) -> None:
    api("PUT", "/v1/users/u1", json={"features": {"age": 30}, "links": [{"user": "u2"}]})
    lines = [json.dumps({"user": f"u{i}", "features": {"age": i}}) for i in range(2_000)]
    lines[3:3] = ['{"user": "x", "categories": []}', '{"item": "x"}', '{"user": "x", "links": 1}']
    lines += ['{"user": "u0", "links": [{"user": "u7", "weight": 2}]}']
    answer = api("POST", "/v1/users", content="\n".join(lines).encode(), headers=NDJSON)
    assert answer.status_code == 200
    summary = answer.json()
    assert (summary["accepted"], summary["rejected_total"], summary["lines"]) == (2_001, 3, 2_004)
    assert [row["line"] for row in summary["rejected"]] == [4, 5, 6]
    last = api("GET", "/v1/users/u0").json()
    assert (last["features"], last["links"]) == ({}, [{"user": "u7", "weight": 2.0}])
    replaced = api("GET", "/v1/users/u1").json()
    assert (replaced["features"], replaced["links"], replaced["version"]) == ({"age": 1}, [], 2)
    assert len(pages(api, "/v1/users", 1_000)) == 2_000


def test_every_line_of_an_item_beyond_the_bound_is_refused(redis_url: str, namespace: str) -> None:
    lines = '{"item": "a"}\n{"item": "b"}\n{"item": "b"}\n'
    with Api(Settings(namespace=namespace, max_items=1), redis_url) as api:
        summary = api("POST", "/v1/items", content=lines, headers=NDJSON).json()
    assert (summary["accepted"], summary["rejected_total"]) == (1, 2)
    assert [row["line"] for row in summary["rejected"]] == [2, 3]


def pages(api: Api, path: str, limit: int) -> list[dict[str, Any]]:
    """Return all entries of a list, page by page."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = api("GET", f"{path}?limit={limit}{cursor}").json()
        assert len(page["items"]) <= limit
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        cursor = f"&cursor={page['next_cursor']}"


def test_categories_are_listed_with_their_items_the_largest_first(api: Api) -> None:
    api.ready()
    assert get(api, "/v1/categories") == {"items": [], "next_cursor": None}
    documents = [{"item": f"i{n}", "categories": ["all", f"c {n % 3}", "all"]} for n in range(8)]
    documents += [
        {"item": "hidden", "categories": ["all", "no"], "hidden": True},
        {"item": "later", "categories": ["all"], "available_from": "2100-01-01"},
        {"item": "plain"},
    ]
    assert api("POST", "/v1/items", json=documents).json()["accepted"] == 11
    expected = [("all", 8), ("c 0", 3), ("c 1", 3), ("c 2", 2)]
    wait_until(lambda: len(get(api, "/v1/categories")["items"]) == 4)
    for limit in (1, 2, 3, 100):
        found = pages(api, "/v1/categories", limit)
        assert [(one["category"], one["items"]) for one in found] == expected
    assert api("DELETE", "/v1/items/i0").is_success
    wait_until(lambda: get(api, "/v1/categories")["items"][0]["items"] == 7)
    for cursor in ("AAAA", "\u00e9"):
        answer = api("GET", "/v1/categories", params={"cursor": cursor})
        check_problem(answer, 422, "invalid_cursor")


def test_items_are_listed_in_the_order_they_came(api: Api) -> None:
    for i in range(5):
        api("PUT", f"/v1/items/i{i}", json={"features": {"n": i}})
    api.rate("ada", "rated", 3)
    api("DELETE", "/v1/items/i2")
    listed = pages(api, "/v1/items", 2)
    assert [(one["item"], one["version"]) for one in listed] == [
        ("i0", 1),
        ("i1", 1),
        ("i3", 1),
        ("i4", 1),
        ("rated", 0),
    ]


def test_users_are_listed_in_the_order_of_their_bytes(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace, partitions=3)
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        rated = [f"u{i}" for i in range(9)] + ["\u00e9", "\U0001f33f", "\uffee"]
        rows = [{"user": user, "item": "x", "rating": 3} for user in rated]
        api("POST", "/v1/ratings?wait=learned", json=rows)
        for user in ("u3", "written", "Written"):
            api("PUT", f"/v1/users/{user}", json={"features": {"a": 1}})
        listed = pages(api, "/v1/users", 2)
        expected = sorted({*rated, "written", "Written"}, key=str.encode)
        assert [one["user"] for one in listed] == expected
        assert {one["user"] for one in listed if one["version"]} == {"u3", "written", "Written"}


def test_users_have_features_and_links(api: Api) -> None:
    body = {"features": {"age": 31}, "links": [{"user": "eve"}, {"user": "bob", "weight": 0.5}]}
    put = api("PUT", "/v1/users/ada", json=body).json()
    assert put["links"] == [{"user": "eve", "weight": 1.0}, {"user": "bob", "weight": 0.5}]
    assert api("GET", "/v1/users/ada").json() == put
    for link in ({"user": ""}, {"user": "x", "weight": 0}, {"user": "x", "weight": "1"}, "x"):
        answer = api("PUT", "/v1/users/ada", json={"links": [link]})
        assert answer.status_code == 422
    assert api("GET", "/v1/users/nobody").status_code == 404
    assert api("PATCH", "/v1/users/nobody", json={}).status_code == 404


def test_a_deleted_user_leaves_no_key(learned_api: Api) -> None:
    learned_api("PUT", "/v1/users/ada-lovelace", json={"features": {"age": 31}})
    rating = {"user": "ada-lovelace", "item": "x", "rating": 3}
    learned_api("POST", "/v1/ratings?wait=learned", json=rating)
    assert learned_api("DELETE", "/v1/users/ada-lovelace").json()["learned"]
    redis, name = learned_api.runtime.redis, learned_api.settings.namespace
    keys: list[bytes] = learned_api.run(redis.keys(f"hr:{{{name}*"))
    assert not [key for key in keys if b"ada-lovelace" in key]
    assert learned_api("GET", "/v1/users").json()["items"] == []


def test_a_deleted_item_says_what_brings_it_back(learned_api: Api) -> None:
    learned_api("PUT", "/v1/items/x", json=ITEM)
    learned_api("DELETE", "/v1/items/x")
    learned_api("POST", "/v1/ratings?wait=learned", json={"user": "ada", "item": "x", "rating": 3})
    for method in ("GET", "PATCH"):
        problem = learned_api(method, "/v1/items/x", **({"json": {}} if method == "PATCH" else {}))
        assert problem.status_code == 404
        assert "feedback alone does not bring it back" in problem.json()["detail"]
    never = learned_api("GET", "/v1/items/never").json()["detail"]
    assert "PUT it, or send feedback for it" in never
    learned_api("POST", "/v1/ratings?wait=learned", json={"user": "ada", "item": "y", "rating": 3})
    assert learned_api("GET", "/v1/items/y").status_code == 200


def test_a_deleted_item_can_be_written_anew(learned_api: Api) -> None:
    learned_api("PUT", "/v1/items/x", json=ITEM)
    learned_api("DELETE", "/v1/items/x")
    again = learned_api("PUT", "/v1/items/x", json={}).json()
    assert (again["version"], again["categories"]) == (3, [])
    assert learned_api("DELETE", "/v1/items/never").status_code == 404
