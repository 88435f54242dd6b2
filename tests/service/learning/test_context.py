"""Events say where they happened; click-through can be asked for by that."""

import json
from contextlib import closing
from typing import Any

import pytest

from service.learning.click_through import MAX_CONTEXTS
from service.learning.learner import Learner
from service.rec_ids import (
    LONGEST,
    MOST_CONTEXT,
    RecIdTemplate,
    context_of_list,
    decode,
    encode,
    source_of,
    with_context,
)
from service.settings import KINDS, Settings
from service.store.connection import Client
from service.store.log.codec import HAS_CONTEXT
from service.store.namespace import open_namespace
from tests.api import NDJSON, Api, appended, check_problem, learning
from tests.feed import Event, Feed

REC_ID = encode("fbgd", "a" * 64, 1_763_000_000_000, "ada")


def event(kind: str = "click", rec_id: str | None = REC_ID, **context: str) -> dict[str, Any]:
    said: dict[str, Any] = {"user": "ada", "item": "x", "kind": kind, "context": context}
    return said if rec_id is None else {**said, "rec_id": rec_id}


def counted(api: Api, **asked: str) -> dict[str, Any]:
    answer = api("GET", "/v1/stats/click-through", params=asked)
    assert answer.status_code == 200, answer.text
    return {one["strategy"]: one["events"] for one in answer.json()["slates"]}


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("stream", [False, True])
def test_click_through_is_counted_by_context(
    redis_url: str, namespace: str, partitions: int, stream: bool
) -> None:
    settings = Settings(namespace=namespace, partitions=partitions, min_sequence_wait_ms=60_000)
    rows = [
        *[event("impression", device="phone", page="home")] * 3,
        event("impression", device="desktop"),
        event("click", device="phone"),
        event("click", device="phone") | {"event_id": "1"},
        event("click", device="phone") | {"event_id": "1"},
        event("click", None, device="phone"),
        {"user": "ada", "item": "x", "kind": "click", "rec_id": REC_ID},
        event("click"),
        {"user": "bob", "item": "x", "rating": 4},
    ]
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        if stream:
            lines = "\n".join(map(json.dumps, rows))
            written = api("POST", "/v1/events/stream", content=lines, headers=NDJSON)
        else:
            written = api("POST", "/v1/events", json=rows)
        assert written.json()["accepted"] == len(rows)
        through = {"min_sequence": written.json()["sequence"]}
        for user in ("ada", "bob"):
            path = f"/v1/users/{user}/predictions/x"
            assert api("GET", path, params=through).status_code == 200
        assert counted(api) == {"fbgd": {"click": 4, "impression": 4}}
        assert counted(api, context="device=phone") == {"fbgd": {"click": 2, "impression": 3}}
        assert counted(api, context="page=home") == {"fbgd": {"impression": 3}}
        assert counted(api, context="device=desktop") == {"fbgd": {"impression": 1}}
        assert counted(api, context="device=watch") == {}


def test_an_entry_without_contexts_is_written_as_before(api: Api) -> None:
    assert api("POST", "/v1/events", json=event()).status_code == 202
    assert api("POST", "/v1/events", json=event(device="phone")).status_code == 202
    plain, placed = appended(api)
    assert (plain.contexts, plain.flags[0] & HAS_CONTEXT) == ((), 0)
    assert placed.contexts == (b"device=phone",)


@pytest.mark.parametrize(
    ("context", "says"),
    [
        ({f"n{i}": "x" for i in range(9)}, "must have at most 8 entries"),
        ({"a b": "x"}, "'a b' in `context` is not a name: use a letter or _ first"),
        ({"": "x"}, "a letter or _ first"),
        ({"a": ""}, "`context.a` must have 1 to 64 characters"),
        ({"a": "x" * 65}, "`context.a` must have 1 to 64 characters"),
        ({"a": "x\ny"}, "none of them a control character"),
        ({"a": 1}, "`context.*` must be a string, not a whole number"),
        (["a"], "must be an object, not a list"),
        ("phone", "must be an object, not a string"),
        (None, "must be an object, not null"),
    ],
)
def test_a_context_is_a_bounded_map_of_short_texts(api: Api, context: Any, says: str) -> None:
    wrong = event() | {"context": context}
    problem = check_problem(api("POST", "/v1/events", json=wrong), 422, "invalid_event")
    assert says in problem["detail"]
    good = event(device="phone")
    written = api("POST", "/v1/events", json=[wrong, good]).json()
    assert [one["index"] for one in written["rejected"]] == [0]
    lines = "\n".join(map(json.dumps, (good, wrong)))
    summary = api("POST", "/v1/events/stream", content=lines, headers=NDJSON).json()
    assert (summary["accepted"], [one["line"] for one in summary["rejected"]]) == (1, [2])


def test_a_context_that_cannot_be_asked_for_says_how(api: Api) -> None:
    for wrong in ("phone", "device:phone", "=x", "a b=c", "device="):
        answer = api("GET", "/v1/stats/click-through", params={"context": wrong})
        assert "such as device=phone" in check_problem(answer, 422, "invalid_request")["detail"]


def test_a_list_remembers_where_it_is_shown(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace, min_sequence_wait_ms=60_000, wait_timeout_ms=60_000)
    where = {"device": "phone", "page": "home"}
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        api.ready()
        path = "/v1/users/ada/recommendations"
        query = {"context": "device=phone,page=home"}
        lists = [api("GET", path, params=query).json() for _ in range(3)]
        lists.append(
            api("POST", "/v1/recommendations", json={"user": "ada", "context": where}).json()
        )
        body = {"users": ["ada"], "context": where}
        lists.append(json.loads(api("POST", "/v1/recommendations/batch", json=body).text))
        body = {"user": "ada", "candidates": ["x"], "context": where}
        lists.append(api("POST", "/v1/rank", json=body).json())
        for one in lists:
            assert context_of_list(one["rec_id"], "ada") == b"device=phone\npage=home"
            assert context_of_list(one["rec_id"], "bob") == b""
        assert len(api("GET", path).json()["rec_id"]) == 32
        rec_id = lists[0]["rec_id"]
        shown = {"user": "ada", "item": "x", "rec_id": rec_id}
        rows = [
            shown | {"kind": "impression"},
            shown | {"kind": "click", "context": {"page": "detail"}},
        ]
        assert api("POST", "/v1/events?wait=learned", json=rows).status_code == 200
        line = json.dumps(shown | {"kind": "impression"})
        upload = api("POST", "/v1/events/stream", content=line, headers=NDJSON).json()
        assert upload["warnings_total"] == 0
        through = {"min_sequence": upload["sequence"]}
        assert api("GET", "/v1/users/ada/predictions/x", params=through).status_code == 200
        [everywhere] = counted(api).values()
        assert everywhere == {"click": 1, "impression": 2}
        assert [*counted(api, context="device=phone").values()] == [everywhere]
        assert [*counted(api, context="page=home").values()] == [{"impression": 2}]
        assert [*counted(api, context="page=detail").values()] == [{"click": 1}]
        [click] = api("GET", "/v1/users/ada/ratings").json()["items"]
        assert click["context"] == {"device": "phone", "page": "detail"}


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("phone=", "`context.phone` must have 1 to 64 characters"),
        ("a b=c", "a letter or _ first"),
        (",".join(f"n{i}=x" for i in range(9)), "at most 8 entries"),
        (",".join(f"n{i}={'x' * 60}" for i in range(3)), "160 bytes at most"),
    ],
)
def test_a_context_that_a_list_cannot_remember_is_refused(api: Api, query: str, says: str) -> None:
    answer = api("GET", "/v1/users/ada/recommendations", params={"context": query})
    assert says in check_problem(answer, 422, "invalid_request")["detail"]
    context = dict(pair.partition("=")[::2] for pair in query.split(","))
    body = {"user": "ada", "context": context}
    assert check_problem(api("POST", "/v1/recommendations", json=body), 422, "invalid_request")
    batch = {"users": ["ada"], "context": context}
    assert check_problem(
        api("POST", "/v1/recommendations/batch", json=batch), 422, "invalid_request"
    )


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("device", "write names and texts, such as device=phone,page=home"),
        ("device=phone,home", "write names and texts, such as device=phone,page=home"),
        ("device=phone,device=watch", "give each name once"),
    ],
)
def test_a_query_names_each_part_of_a_context_once(api: Api, query: str, says: str) -> None:
    answer = api("GET", "/v1/users/ada/recommendations", params={"context": query})
    assert says in check_problem(answer, 422, "invalid_request")["detail"]


def test_an_id_carries_the_longest_context_and_a_forged_one_places_nothing(api: Api) -> None:
    longest = b"a=" + b"x" * (MOST_CONTEXT - 2)
    placed = with_context(REC_ID, longest)
    plain, read = decode(REC_ID), decode(placed)
    assert plain is not None
    assert read is not None
    assert len(placed) <= LONGEST
    assert (read.source, read.time_ms, read.user) == (plain.source, plain.time_ms, plain.user)
    assert read.context == longest
    assert RecIdTemplate.of(placed).at(read.time_ms).decode() == placed
    for wrong in (placed[:-1], placed + "A", placed[:40] + "-" + placed[41:], placed * 2):
        assert decode(wrong) is None
    for context in (b"a b=c", b"\xff", b"=", b"a=" + bytes(3)):
        forged = with_context(REC_ID, context)
        assert api("POST", "/v1/events", json=event(rec_id=forged, device="tv")).status_code == 202
    assert {one.contexts for one in appended(api)} == {(b"device=tv",)}


def learn(client: Client, namespace: str) -> None:
    settings = Settings(namespace=namespace)
    opened = open_namespace(client, settings)
    with closing(Learner(settings, client, opened, 0)) as learner:
        learner.drain()


def test_contexts_are_bounded_wherever_batches_end_and_displace_no_source(
    client: Client, namespace: str
) -> None:
    n, kind = MAX_CONTEXTS + 50, KINDS["click"].code
    events = [
        Event("ada", "x", 0, kind, rec_id=REC_ID, context=b"a1=%d\na=%d" % (at, at // 2))
        for at in range(n)
    ]
    feed, at_once = Feed(client, namespace), Feed(client, f"{namespace}-2")
    for start in range(0, n, 300):
        feed.append(events[start : start + 300])
        learn(client, namespace)
    at_once.append(events)
    learn(client, at_once.namespace)
    stored = client.hgetall(feed.keys.responses)
    assert stored == client.hgetall(at_once.keys.responses)
    assert len(stored) == 1 + 2 * MAX_CONTEXTS
    source = source_of(REC_ID, "ada").hex().encode()
    assert json.loads(stored[source])["events"] == {str(kind): n}
    assert source + b"|a1=%d" % (n - 1) in stored
    assert source + b"|a1=0" not in stored
    assert b"|a1=%d" % (n - 1) in stored
    assert b"|a1=0" not in stored
