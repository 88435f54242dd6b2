"""Lists for many users by one request: as if each had asked alone, a line each."""

import json
from typing import Any

import httpx
import pytest

from service.settings import Settings
from tests.api import Api, check_problem, served
from tests.service.shop import activate, items

BATCH, ALONE = "/v1/recommendations/batch", "/v1/recommendations"
OF_THE_MOMENT = ("rec_id", "seen_through")


def batch(api: Api, **body: Any) -> list[Any]:
    answer = api("POST", BATCH, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.text.endswith("\n")
    return [json.loads(line) for line in answer.text.splitlines()]


def alone(api: Api, **body: Any) -> Any:
    answer = api("POST", ALONE, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def lasting(slate: Any) -> Any:
    return {name: value for name, value in slate.items() if name not in OF_THE_MOMENT}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"k": 3, "exclude": ["i1"], "explain": True, "fields": ["year"]},
        {"model": "popular", "exclude_seen": False, "filter": "year > 2000"},
        {"candidates": ["i3", "i4", "i9"], "model": "fbgd"},
    ],
)
def test_a_line_is_what_the_user_would_get_alone(
    shop: Api, redis_url: str, more: dict[str, Any]
) -> None:
    activate(shop, redis_url)
    users = ["ada", "nobody", *[f"fan{n}" for n in range(6)] * 7, "ada"]
    lines = batch(shop, users=users, **more)
    assert [one["user"] for one in lines] == users
    for user, one in zip(users, lines, strict=True):
        assert lasting(one) == lasting(alone(shop, user=user, **more))


def test_a_line_goes_on_with_its_own_cursor(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    for one in batch(shop, users=["ada", "fan1"], k=4, diversity=0.2):
        more = {"user": one["user"], "k": 4, "diversity": 0.2, "cursor": one["next_cursor"]}
        assert not {*items(alone(shop, **more))} & {*items(one)}
    answer = shop("POST", BATCH, json={"users": ["ada"], "cursor": one["next_cursor"]})
    assert "POST /v1/recommendations" in check_problem(answer, 422, "invalid_request")["detail"]


def test_a_fault_of_one_user_is_a_line(shop: Api) -> None:
    users = ["ada", "", "a\u0007b", "x" * 257, "fan1"]
    lines = batch(shop, users=users)
    assert [one["user"] for one in lines] == users
    assert ["error" in one for one in lines] == [False, True, True, True, False]
    for one in lines[1:4]:
        assert (one["error"]["status"], one["error"]["code"]) == (422, "invalid_id")
        assert one["error"]["detail"]


def test_a_fault_of_the_whole_request_is_a_problem(shop: Api) -> None:
    for body, code, says in (
        ({}, "invalid_request", "users: is missing"),
        ({"users": []}, "invalid_request", "must not be empty"),
        ({"users": ["a"] * 1_001}, "invalid_request", "at most 1000 entries"),
        ({"users": "ada"}, "invalid_request", "must be a list"),
        ({"users": ["ada"], "user": "bob"}, "invalid_request", "allowed are:"),
        ({"users": ["ada"], "model": "magic"}, "invalid_request", "must be one of fbgd"),
        ({"users": ["ada"], "filter": "year >"}, "invalid_filter", "at character 7"),
        ({"users": ["ada"], "exclude": [""]}, "invalid_id", "`exclude[0]` is empty"),
        ({"users": ["ada"], "k": 900, "offset": 200, "diversity": 1}, "invalid_request", "k"),
        ({"users": ["ada"], "min_sequence": "x"}, "invalid_sequence", "exactly as you received"),
    ):
        assert says in check_problem(shop("POST", BATCH, json=body), 422, code)["detail"]


def test_a_batch_leaves_in_parts(redis_url: str, namespace: str) -> None:
    users = [f"u{n}" for n in range(1_000)]
    with served(Settings(namespace=namespace), redis_url) as (host, port):
        url = f"http://{host}:{port}{BATCH}"
        with httpx.stream("POST", url, json={"users": users}, timeout=180) as answer:
            assert answer.headers["transfer-encoding"] == "chunked"
            lines = [json.loads(line) for line in answer.iter_lines()]
    assert [one["user"] for one in lines] == users
