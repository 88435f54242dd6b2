"""How many requests a key, and an address without one, may send in a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from service.client import ServiceClient
from service.http.rates import MOST_BUCKETS, Buckets, Rates, TooManyRequests
from service.limits import Limits
from service.settings import Settings
from tests.api import Api, check_problem, served

SLOW = 1 / 3600
"""Tokens a second that no test waits for."""


@contextmanager
def limited(redis_url: str, namespace: str, **limits: Any) -> Iterator[Api]:
    """An application with keys, on loopback, whose addresses count."""
    bounds = Limits(count_loopback=True, **limits)
    with Api(Settings(namespace=namespace, limits=bounds), redis_url) as api:
        api.new_key("admin", "first")
        yield api


def get(api: Api, secret: str = "", path: str = "/v1/stats") -> httpx.Response:
    headers = {"authorization": f"Bearer {secret}"} if secret else {}
    return api.run(api.client.get(path, headers=headers))


def check_limited(answer: httpx.Response, setting: str) -> None:
    problem = check_problem(answer, 429, "rate_limited")
    assert f"HEDGEROW_LIMITS__{setting}_PER_S" in problem["detail"]
    assert 1 <= problem["retry_after"] <= 3600
    assert answer.headers["retry-after"] == str(problem["retry_after"])
    assert answer.headers["ratelimit-remaining"] == "0"


def test_a_key_that_sends_too_much_is_told_and_no_other_key_feels_it(
    redis_url: str, namespace: str
) -> None:
    bounds = {"key_requests_per_s": SLOW, "key_requests_at_once": 3}
    with limited(redis_url, namespace, **bounds) as api:
        (_, busy), (_, other) = api.new_key("read", "busy"), api.new_key("read", "other")
        left = [get(api, busy) for _ in range(3)]
        assert [answer.status_code for answer in left] == [200] * 3
        assert [answer.headers["ratelimit-remaining"] for answer in left] == ["2", "1", "0"]
        assert {answer.headers["ratelimit-limit"] for answer in left} == {"3"}
        check_limited(get(api, busy), "KEY_REQUESTS")
        # another spelling of the header is the same key
        check_limited(get(api, f"  {busy} "), "KEY_REQUESTS")
        assert get(api, other).status_code == 200


def test_nobody_empties_the_bucket_of_a_key_by_its_id(redis_url: str, namespace: str) -> None:
    bounds = {"key_requests_per_s": SLOW, "key_requests_at_once": 2}
    with limited(redis_url, namespace, **bounds, unknown_requests_per_s=0) as api:
        key, secret = api.new_key("read", "shop")
        for _ in range(4):
            check_problem(get(api, f"hr_{key.id}_guessed"), 401, "unauthorised")
        assert get(api, secret).status_code == 200


def test_an_address_that_guesses_keys_is_slowed_down(redis_url: str, namespace: str) -> None:
    bounds = {"unknown_requests_per_s": SLOW, "unknown_requests_at_once": 3}
    with limited(redis_url, namespace, **bounds) as api:
        _, secret = api.new_key("read", "shop")
        for guess in ("", "hr_a_b", "hr_c_d"):
            check_problem(get(api, guess), 401, "unauthorised")
        for guess in ("", "hr_e_f"):
            check_limited(get(api, guess), "UNKNOWN_REQUESTS")
        check_limited(get(api, path="/healthz"), "UNKNOWN_REQUESTS")
        # the same address with a key is somebody else
        assert get(api, secret).status_code == 200


def test_loopback_and_proxies_are_not_counted() -> None:
    limits = Limits(unknown_requests_per_s=SLOW, unknown_requests_at_once=1)
    rates = Rates(limits, ["10.0.0.0/8"])

    def times(address: str) -> int:
        for n in range(3):
            try:
                rates.count_address({"client": (address, 1), "more_headers": []})
            except TooManyRequests:
                return n
        return 3

    assert [times(one) for one in ("127.0.0.1", "::1", "10.1.2.3")] == [3, 3, 3]
    assert [times(one) for one in ("192.0.2.1", "192.0.2.2", "2001:db8::1")] == [1, 1, 1]
    # one /64 network is one address, since one client has all of it
    assert times("2001:db8::2") == 0


def test_a_bucket_fills_again_and_never_overflows() -> None:
    buckets = Buckets(per_s=2, at_once=4)
    taken = [buckets.take("a", now=100.0).tokens for _ in range(5)]
    assert taken == [3, 2, 1, 0, -1]
    # a refused request takes nothing: half a second brings one token
    assert buckets.take("a", now=100.5).tokens == 0
    assert buckets.take("a", now=1_000.0).tokens == 3
    # a clock that goes back gives nothing away
    assert buckets.take("a", now=999.0).tokens == pytest.approx(0)


@pytest.mark.parametrize("per_s", [SLOW, 0.3, 7, 1000])
def test_the_last_token_is_there_whatever_the_clock_shows(per_s: float) -> None:
    for n in range(1000):
        buckets, now = Buckets(per_s, at_once=3), 29_000 + 0.37 * n
        assert [int(buckets.take("a", now).tokens) for _ in range(3)] == [2, 1, 0]
        assert buckets.take("a", now).tokens < 0


def test_the_number_of_buckets_is_bounded() -> None:
    buckets = Buckets(per_s=1, at_once=2)
    for n in range(MOST_BUCKETS + 10):
        buckets.take(str(n), now=0.0)
    assert len(buckets._full_at) == MOST_BUCKETS
    assert buckets.take(str(MOST_BUCKETS), now=0.0).tokens == 0


def test_our_client_waits_instead_of_giving_up(redis_url: str, namespace: str) -> None:
    limits = Limits(count_loopback=True, unknown_requests_per_s=10, unknown_requests_at_once=1)
    told: list[str] = []
    with (
        served(Settings(namespace=namespace, limits=limits), redis_url) as (host, port),
        ServiceClient(f"http://{host}:{port}", tell=told.append) as client,
    ):
        client.wait_until_ready()
        answers = [client.get("/v1/stats") for _ in range(5)]
    assert len(answers) == 5
    assert any(" answers 429 " in message for message in told)
    assert not any("no answer" in message for message in told)
