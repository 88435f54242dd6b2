"""Unusual ids through every route that takes one: stored, returned and deleted unchanged."""

import json

import pytest

from service.ids import InvalidSequence, parse_sequence_token
from service.settings import Settings
from tests.api import NDJSON, Api, exchange, learning, served

NASTY = [
    "/",
    "a/b",
    "//",
    "..",
    ".",
    "../../etc",
    "%",
    "%2F",
    "%25",
    " ",
    " a ",
    "+",
    "a+b",
    "?",
    "a?b=c",
    "#",
    ":",
    "{x}",
    "ratings",
    "&",
    "=",
    ";",
    "'\"",
    "\\",
    "\u00e9",
    "e\u0301",
    "\u202e",
    "\U0001f33f",
    "\U0001f468\u200d\U0001f469",
    "~" * 256,
    "\U0001f33f" * 256,
]

REFUSED = {
    "empty": "",
    "257 code points": "x" * 257,
    "10 000": "x" * 10_000,
    "NUL": "%00",
    "newline": "a%0Ab",
    "delete": "%7F",
    "C1": "%C2%85",
    "not UTF-8": "%FF",
    "a surrogate": "%ED%A0%80",
    "overlong": "%C0%AF",
    "half an escape": "a%2",
    "no escape": "a%zz",
}

ID_ROUTES = [
    ("GET", "/v1/users/{}/ratings"),
    ("DELETE", "/v1/users/{}/ratings/x"),
    ("DELETE", "/v1/users/x/ratings/{}"),
    ("GET", "/v1/users/{}/predictions/x"),
    ("GET", "/v1/users/x/predictions/{}"),
    ("GET", "/v1/items/{}"),
    ("PUT", "/v1/items/{}"),
    ("PATCH", "/v1/items/{}"),
    ("DELETE", "/v1/items/{}"),
    ("GET", "/v1/users/{}"),
    ("PUT", "/v1/users/{}"),
    ("PATCH", "/v1/users/{}"),
    ("DELETE", "/v1/users/{}"),
]


def test_nasty_ids_live_through_every_route(learned_api: Api) -> None:
    api = learned_api
    rows = [{"user": nasty, "item": nasty, "rating": 1 + i % 5} for i, nasty in enumerate(NASTY)]
    sequence = api("POST", "/v1/ratings?wait=learned", json=rows).json()["sequence"]
    lines = "\n".join(json.dumps(row) for row in rows).encode()
    assert api("POST", "/v1/ratings/stream", content=lines, headers=NDJSON).json()[
        "accepted"
    ] == len(rows)
    pairs = [{"user": nasty, "item": nasty} for nasty in NASTY]
    batch = api("POST", f"/v1/predictions?min_sequence={sequence}", json={"pairs": pairs})
    assert [one["user"] for one in batch.json()["predictions"]] == NASTY
    documents = "\n".join(json.dumps({"item": nasty, "categories": ["bulk"]}) for nasty in NASTY)
    bulk = api("POST", "/v1/items", content=documents.encode(), headers=NDJSON)
    assert bulk.json()["accepted"] == len(NASTY)
    for i, nasty in enumerate(NASTY):
        one_life(api, nasty, 1 + i % 5)


def one_life(api: Api, nasty: str, rating: float) -> None:
    # every byte: clients take "." and ".." out of a path unless they are encoded
    path = "".join(f"%{byte:02X}" for byte in nasty.encode())
    history = api("GET", f"/v1/users/{path}/ratings").json()["items"]
    assert {(event["item"], event["rating"]) for event in history} == {(nasty, rating)}
    one = api("GET", f"/v1/users/{path}/predictions/{path}").json()
    assert (one["user"], one["item"]) == (nasty, nasty)
    assert api("GET", f"/v1/items/{path}").json()["categories"] == ["bulk"]
    for kind in ("items", "users"):
        own = f"/v1/{kind}/{path}"
        assert api("PUT", own, json={"features": {"a": 1}}).json()["features"] == {"a": 1}
        assert api("PATCH", own, json={"features": {"b": 2}}).json()["features"] == {"a": 1, "b": 2}
        read = api("GET", own).json()
        assert read[kind.removesuffix("s")] == nasty
        assert read["features"] == {"a": 1, "b": 2}
        assert nasty in all_of(api, kind)
    gone = api("DELETE", f"/v1/users/{path}/ratings/{path}").json()
    assert (gone["user"], gone["item"], gone["learned"]) == (nasty, nasty, True)
    assert api("GET", f"/v1/users/{path}/ratings").json()["items"] == []
    for kind in ("items", "users"):
        own = f"/v1/{kind}/{path}"
        receipt = api("DELETE", own).json()
        assert (receipt[kind.removesuffix("s")], receipt["learned"]) == (nasty, True)
        assert api("GET", own).status_code == 404
        assert nasty not in all_of(api, kind)


def all_of(api: Api, kind: str) -> list[str]:
    entries = api("GET", f"/v1/{kind}?limit=1000").json()["items"]
    return [entry[kind.removesuffix("s")] for entry in entries]


@pytest.mark.parametrize("raw", REFUSED.values(), ids=list(REFUSED))
def test_a_path_that_holds_no_id_is_refused(api: Api, raw: str) -> None:
    for method, route in ID_ROUTES:
        answer = api(method, route.format(raw), json={} if method in {"PUT", "PATCH"} else None)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_id"), (method, route)


def test_ids_are_not_changed_by_a_real_server(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace)
    with learning(settings, redis_url), served(settings, redis_url) as address:
        for raw, item in (("..", ".."), ("%2e%2E%2F", "../"), ("a+b%20", "a+b "), ("%252F", "%2F")):
            answer = exchange(address, f"GET /v1/users/x/predictions/{raw} HTTP/1.1\r\n".encode())
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["item"] == item


def test_raw_bytes_in_a_path_break_nothing(redis_url: str, namespace: str) -> None:
    with served(Settings(namespace=namespace), redis_url) as address:
        answer = exchange(address, b"GET /v1/items/\xff\xfe HTTP/1.1\r\n")
        assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 422"))
        assert exchange(address, b"GET /healthz HTTP/1.1\r\n").startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "token", ["", "0", "0:", ":1", "0:1,", "a:1", "0:1 ", "0:\u0661", "0:-1", "9" * 400]
)
def test_a_sequence_that_no_answer_held_is_refused(api: Api, token: str) -> None:
    with pytest.raises(InvalidSequence):
        parse_sequence_token(token)
    answer = api("GET", "/v1/users/a/predictions/b", params={"min_sequence": token})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_sequence")
