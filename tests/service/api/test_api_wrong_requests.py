"""Ninety-five wrong requests of all kinds: each answer names what to send instead."""

import gzip
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from service.settings import Settings
from tests.api import JSON, NDJSON, Api, check_problem

RECOMMENDATIONS = "/v1/users/ada/recommendations"
EVENT = {"user": "ada", "item": "a", "rating": 4}
BATCH = "/v1/recommendations/batch"


class Wrong(NamedTuple):
    """A request, the code of its answer, and words that say what to send."""

    method: str
    path: str
    status: int
    code: str
    says: str
    body: Any = None
    headers: dict[str, str] | None = None


def _query(path: str, query: str, says: str, code: str = "invalid_request") -> Wrong:
    return Wrong("GET", f"{path}?{query}", 422, code, says)


def _body(
    path: str, body: Any, says: str, code: str = "invalid_request", method: str = "POST"
) -> Wrong:
    return Wrong(method, path, 422, code, says, body)


def _event(says: str, code: str = "invalid_event", **changed: Any) -> Wrong:
    event = {name: value for name, value in (EVENT | changed).items() if value is not ...}
    return _body("/v1/events", event, says, code)


def _raw(
    path: str, body: bytes, headers: dict[str, str], status: int, code: str, says: str
) -> Wrong:
    return Wrong("POST", path, status, code, says, body, headers)


GZIP = {"content-encoding": "gzip"}
LISTS = [
    _query(RECOMMENDATIONS, "k=0", "must be from 1 to 1000"),
    _query(RECOMMENDATIONS, "k=ten", "must be a whole number"),
    _query(RECOMMENDATIONS, "count=10", "allowed are: blend, category"),
    _query(RECOMMENDATIONS, "k=1&k=2", "give the parameter once"),
    _query(RECOMMENDATIONS, "offset=-1", "must be from 0 to 10000"),
    _query(RECOMMENDATIONS, "model=als", "must be one of fbgd, ocmf"),
    _query(RECOMMENDATIONS, "explain=yes", "must be true or false (1 or 0)"),
    _query(RECOMMENDATIONS, "diversity=half", "such as 0.5"),
    _query(RECOMMENDATIONS, "diversity=2", "must be from 0 to 1"),
    _query(RECOMMENDATIONS, "blend=-1", "must be from 0 to 1"),
    _query(RECOMMENDATIONS, "max_per_category=0", "must be from 1 to 1000"),
    _query(RECOMMENDATIONS, "diversity=1&k=1000&offset=1", "go on with `cursor`"),
    _query(RECOMMENDATIONS, "cursor=x", "send `next_cursor` of the same list", "invalid_cursor"),
    _query(RECOMMENDATIONS, "cursor=x&offset=2", "leave `offset` out"),
    _query(RECOMMENDATIONS, "exclude=a,,b", "an id has 1 to 256 characters", "invalid_id"),
    _query(RECOMMENDATIONS, f"fields={','.join('abcdefghijklmnopqrstu')}", "name at most 20"),
    _query(RECOMMENDATIONS, "filter=year", "expected one of = != < <= > >=", "invalid_filter"),
    _query(RECOMMENDATIONS, 'filter=a = "b"', "expected", "invalid_filter"),
    _query(RECOMMENDATIONS, f"filter={'x' * 1_001}", "at most 1000 characters"),
    _query(RECOMMENDATIONS, "min_sequence=7", "exactly as you received it", "invalid_sequence"),
    _query(RECOMMENDATIONS, "min_sequence=9:1", "of this namespace", "invalid_sequence"),
    _query("/v1/users/%FF/recommendations", "k=1", "is not UTF-8", "invalid_id"),
    _query("/v1/users/100%/recommendations", "k=1", "write % as %25", "invalid_id"),
    _query("/v1/users//recommendations", "k=1", "an id has 1 to 256 characters", "invalid_id"),
    _query("/v1/popular", "user=", "an id has 1 to 256 characters", "invalid_id"),
    _query("/v1/popular", "explain=true", "allowed are: category, cursor"),
    _query("/v1/trending", "users=ada", "allowed are:"),
    _query("/v1/trending", "min_sequence=now", "exactly as you received it", "invalid_sequence"),
    _query("/v1/users/ada/similar", "model=popular", "must be one of fbgd, ocmf"),
    _query("/v1/users/ada/similar", "offset=3", "allowed are: k, model"),
    Wrong(
        "GET", "/v1/items/never/similar", 404, "not_found", "write its document or send feedback"
    ),
    _body("/v1/recommendations", {"usr": "ada"}, "allowed are: blend, candidates"),
    _body("/v1/recommendations", {"user": 7}, "must be a string"),
    _body(
        "/v1/recommendations",
        {"user": "ada", "history": [{"item": "a", "rating": 5}]},
        "give `user` or `history`, not both",
    ),
    _body("/v1/recommendations", {"history": [{"item": "a"}]}, "give a `rating`", "invalid_event"),
    _body(
        "/v1/recommendations",
        {"history": [{"item": "a", "rating": 50}]},
        "must be from 1 to 5",
        "out_of_scale",
    ),
    _body("/v1/recommendations", {"history": [{"rating": 5}]}, "history.0.item: is missing"),
    _body("/v1/recommendations", {"features": {"a b": 1}}, "must be a name: a letter or _ first"),
    _body("/v1/recommendations", {"features": {"age": None}}, "must be a number"),
    _body("/v1/recommendations", [], "must be an object"),
    _body("/v1/rank", {"user": "ada"}, "candidates: is missing"),
    _body("/v1/rank", {"candidates": []}, "must not be empty"),
    _body("/v1/rank", {"candidates": "a,b"}, "must be a list"),
    _body("/v1/rank", {"candidates": ["a"], "offset": 1, "cursor": "x"}, "leave `offset` out"),
    _body(BATCH, {"user": "ada"}, "allowed are:"),
    _body(BATCH, {"users": []}, "must not be empty"),
    _body(BATCH, {"users": ["a"] * 1_001}, "at most 1000 entries"),
    _body(BATCH, {"users": ["ada"], "cursor": "x"}, "go on with POST /v1/recommendations"),
    _body(BATCH, {"users": ["ada"], "filter": "year >"}, "a number or a string", "invalid_filter"),
    _body("/v1/items/audience", {}, "give either `item` or `features`"),
    _body("/v1/items/audience", {"item": "a", "k": 5_000}, "must be at most 1000"),
]
FEEDBACK = [
    _event("is missing", user=...),
    _event("must be a string, not a whole number", user=7),
    _event("an id has 1 to 256 characters", "invalid_id", item=""),
    _event("must be from 1 to 5", "out_of_scale", rating=11),
    _event("must be a number, not a string", rating="4"),
    _event("give `rating` or `kind`, not both", kind="click"),
    _event("give a `rating`, or a `kind`", rating=...),
    _event("must be one of: click", "unknown_kind", rating=..., kind="clicked"),
    _event("allowed are: context, event_id", stars=4),
    _event("2026-11-18T12:00:00Z", timestamp="yesterday"),
    _event("Unix seconds or milliseconds", timestamp="1794960000"),
    _event("must lie in the years 1 to 9999", timestamp=1e15),
    _event("an id has 1 to 256 characters", "invalid_id", event_id=""),
    _event("1 to 64 characters", context={"device": ""}),
    _event("at most 8 entries", context={f"n{n}": "x" for n in range(9)}),
    _query("/v1/stats/click-through", "context=phone", "such as device=phone"),
    _body("/v1/events", [], "an empty array is refused too", "nothing_accepted"),
    _body("/v1/events", [EVENT | {"rating": 0}], "`rejected` says why", "nothing_accepted"),
    _body("/v1/events?wait=yes", EVENT, "`wait` can only be `learned`"),
    Wrong(
        "POST",
        "/v1/events?wait=learned",
        413,
        "too_large",
        "send fewer, or do not wait",
        [EVENT] * 101,
    ),
    Wrong(
        "POST",
        "/v1/events",
        422,
        "invalid_id",
        "1 to 200 characters",
        EVENT,
        {"idempotency-key": "x" * 201},
    ),
    _raw("/v1/events", b'{"user": "ada"', JSON, 422, "malformed_json", "brackets and quotes"),
    _raw("/v1/events", b"user=ada", {}, 415, "unsupported_media_type", "application/json"),
    _raw("/v1/events", b"{}", JSON | GZIP, 400, "malformed_body", "leave the header out"),
    _raw(
        "/v1/events",
        json.dumps(EVENT).encode(),
        JSON | {"content-encoding": "br"},
        415,
        "unsupported_media_type",
        "Content-Encoding: gzip",
    ),
    _raw(
        "/v1/events/stream",
        gzip.compress(b"{}")[:-3],
        NDJSON | GZIP,
        400,
        "malformed_body",
        "send it whole",
    ),
    _raw("/v1/events/stream", b"{}", {}, 415, "unsupported_media_type", "application/x-ndjson"),
    _raw("/v1/events/stream", b"{}", NDJSON, 422, "nothing_accepted", "`rejected` says why"),
    Wrong("DELETE", "/v1/users/ada/ratings/never", 404, "not_found", "nobody has rated it"),
    _query("/v1/users/ada/ratings", "limit=0", "must be at least 1"),
    _query("/v1/users/ada/ratings", "cursor=x", "send `next_cursor`", "invalid_cursor"),
    _body("/v1/users/ada/merge", {"from": "bob"}, "allowed are: source"),
    Wrong("POST", "/v1/users/ada/merge", 409, "conflict", "another source", {"source": "ada"}),
]
REST = [
    Wrong("GET", "/v1/items/never", 404, "not_found", "PUT it, or send feedback for it"),
    Wrong("GET", "/v1/users/never", 404, "not_found", "PUT them, or send feedback"),
    _body("/v1/items/a", {"title": "x"}, "allowed are: available_from", method="PUT"),
    _body("/v1/items/a", {"available_from": "soon"}, "2026-11-18T12:00:00Z", method="PUT"),
    _body("/v1/items/a", {"hidden": "no"}, "must be true or false", method="PUT"),
    Wrong(
        "PUT",
        "/v1/items/a",
        422,
        "invalid_request",
        "the `ETag` of an answer",
        {},
        {"if-match": "x"},
    ),
    _body("/v1/items", {"item": "a", "title": "x"}, "`rejected` says why", "nothing_accepted"),
    _body("/v1/items", "a", '[{"item": "...", ...}, ...]', "invalid_document"),
    _raw(
        "/v1/users", b"a,b", {"content-type": "text/csv"}, 415, "unsupported_media_type", "or app"
    ),
    _query("/v1/categories", "cursor=x", "send `next_cursor`", "invalid_cursor"),
    _query("/v1/categories", "limit=5000", "must be at most 1000"),
    _body("/v1/predictions", {"pairs": [{"user": "ada"}]}, "pairs.0.item: is missing"),
    _body("/v1/retrain", {"model": "svd"}, "there are: fbgd", "invalid_training"),
    Wrong("GET", "/v1/jobs/1", 422, "invalid_request", "GET /v1/jobs lists them"),
    Wrong("POST", "/v1/models/abc/promote", 404, "not_found", "its first 12 characters", {}),
    Wrong("POST", "/v1/popular", 405, "method_not_allowed", "only GET, HEAD"),
    Wrong("GET", "/v1/recomendations", 404, "not_found", "/docs lists all paths"),
]
ALL = [*LISTS, *FEEDBACK, *REST]


@pytest.fixture(scope="module")
def asked(redis_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("wrong")
    with Api(Settings(namespace="wrong-requests", data_dir=folder), redis_server) as api:
        api.ready()
        yield api


def test_there_are_enough_of_them() -> None:
    assert len(ALL) >= 95
    assert len({wrong.code for wrong in ALL}) >= 18


@pytest.mark.parametrize("wrong", ALL, ids=lambda wrong: f"{wrong.method} {wrong.path[:60]}")
def test_the_answer_names_what_to_send_instead(asked: Api, wrong: Wrong) -> None:
    more: dict[str, Any] = {"headers": wrong.headers or {}}
    if isinstance(wrong.body, bytes):
        more["content"] = wrong.body
    elif wrong.body is not None:
        more["json"] = wrong.body
    problem = check_problem(asked(wrong.method, wrong.path, **more), wrong.status, wrong.code)
    assert wrong.says in problem["detail"]
    # whatever is refused, nothing was stored
    assert asked("GET", "/v1/stats").json()["partitions"][0]["appended"] == 0
