"""Requests are sent again where that is safe and helps, after pauses that grow, or as told."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from hedgerow_client import Retries, errors
from hedgerow_client.errors import error_of
from hedgerow_client.requests import Request
from hedgerow_client.retries import Failure, Tries
from service.limits import Limits
from service.settings import Settings
from tests.api import served
from tests.clients.python.both import Opened
from tests.clients.python.full import full_service
from tests.proxy import LossyProxy

READ = Request("GET", "/v1/stats")
ONCE = Request("POST", "/v1/admin/keys", repeatable=False)
RETRIES = Retries(patience_s=60, first_pause_s=1, longest_pause_s=4)


def answered(status: int, code: str = "", retry_after: float | None = None) -> Any:
    problem = {"code": code} | ({} if retry_after is None else {"retry_after": retry_after})
    return error_of("GET /v1/stats", status, problem)


def tries(request: Request = READ, now: Callable[[], float] = float, chance: float = 1) -> Tries:
    return Tries(request, RETRIES, now=now, chance=lambda: chance)


def test_pauses_grow_to_a_longest_one_and_are_partly_random() -> None:
    latest, earliest = tries(chance=1), tries(chance=0)
    away = errors.Unreachable("away")
    assert [latest.pause_after(away) for _ in range(4)] == [1, 2, 4, 4]
    assert [earliest.pause_after(away) for _ in range(4)] == [0.5, 1, 2, 2]


def test_an_answer_that_says_how_long_to_wait_is_obeyed() -> None:
    assert tries(chance=0).pause_after(answered(429, retry_after=7)) == 7
    assert tries(chance=1).pause_after(answered(503, retry_after=8)) == 10


def test_patience_ends_before_a_pause_that_would_exceed_it() -> None:
    clock = iter([0.0, 50.0, 50.0])
    ones = tries(now=lambda: next(clock))
    assert ones.pause_after(answered(503, retry_after=1))
    with pytest.raises(errors.RateLimited):
        ones.pause_after(answered(429, retry_after=30))


@pytest.mark.parametrize(
    ("failure", "is_repeated"),
    [
        (errors.Unreachable("refused", nothing_was_sent=True), True),
        (errors.Unreachable("broke"), False),
        (answered(429, "rate_limited"), True),
        (answered(503, "overloaded"), True),
        (answered(503, "store_unavailable"), False),
    ],
)
def test_what_must_not_be_done_twice_is_repeated_only_if_it_was_not_done(
    failure: Failure, is_repeated: bool
) -> None:
    assert tries(READ).pause_after(failure) > 0
    if is_repeated:
        assert tries(ONCE).pause_after(failure) > 0
    else:
        with pytest.raises(type(failure)):
            tries(ONCE).pause_after(failure)


@contextmanager
def losing(url: str, loses: Callable[[bytes], bool]) -> Iterator[LossyProxy]:
    with closing(LossyProxy(url, None, loses)) as proxy:
        yield proxy


def first_of(n: int, word: bytes) -> Callable[[bytes], bool]:
    """Lose the replies to the first requests that hold a word."""
    left = iter(range(n))
    return lambda request: word in request and next(left, None) is not None


def test_events_whose_answers_were_lost_count_once(kind: str, url: str) -> None:
    with losing(url, first_of(3, b"/v1/events")) as proxy, Opened(kind, proxy.url) as client:
        one = client.send({"user": "ada", "item": "a", "kind": "view"})
        written = client.send([{"user": "ada", "item": "b", "kind": "view"}] * 2)
        assert proxy.lost == 3
        client.wait_until_learned(one["sequence"])
        client.wait_until_learned(written["sequence"])
        # the two of the array are two events: each has an id of its own
        counted = {
            kind["kind"]: kind for kind in [client.get_stats()["partitions"][0] | {"kind": 0}]
        }
        assert (counted[0]["other_events"], counted[0]["duplicates"]) == (3, 3)


def test_a_key_is_not_made_twice(kind: str, url: str) -> None:
    with losing(url, first_of(1, b"/v1/admin/keys")) as proxy, Opened(kind, proxy.url) as client:
        with pytest.raises(errors.Unreachable, match="no answer from"):
            client.create_key({"name": "mine", "role": "admin"})
        assert proxy.lost == 1
    with Opened(kind, url) as client, pytest.raises(errors.Unauthorised, match="key="):
        client.list_keys()


def test_where_nobody_listens_the_error_says_so_once_patience_is_over(kind: str) -> None:
    with Opened(kind, "http://127.0.0.1:1", retries=Retries(patience_s=0.3)) as client:
        with pytest.raises(errors.Unreachable, match="is the service running at this address"):
            client.get_stats()
        with pytest.raises(errors.NotInTime, match="not ready"):
            client.wait_until_ready(0.3)


def test_a_full_log_is_waited_for_as_long_as_patience_lasts(
    kind: str, namespace: str, redis_url: str
) -> None:
    retries = Retries(patience_s=1.5)
    with full_service(namespace, redis_url) as url, Opened(kind, url, retries=retries) as client:
        with pytest.raises(errors.Unavailable) as caught:
            client.send({"user": "ada", "item": "b", "kind": "view"})
        assert caught.value.code == "backlogged"


def test_who_sends_too_much_is_slowed_down_and_refused_nothing(
    kind: str, namespace: str, redis_url: str
) -> None:
    limits = Limits(count_loopback=True, unknown_requests_per_s=5, unknown_requests_at_once=2)
    with served(Settings(namespace=namespace, limits=limits), redis_url) as (host, port):
        with Opened(kind, f"http://{host}:{port}") as client:
            client.wait_until_ready()
            assert [client.check_health()["status"] for _ in range(4)] == ["ok"] * 4
        with Opened(kind, f"http://{host}:{port}", retries=Retries(patience_s=0)) as client:
            with pytest.raises(errors.RateLimited) as caught:
                [client.check_health() for _ in range(1000)]
            assert caught.value.retry_after_s


def test_closing_ends_a_request_that_waits_for_its_next_try() -> None:
    with Opened("sync", "http://127.0.0.1:1", retries=Retries(first_pause_s=30)) as client:
        threading.Timer(1.0, client.close).start()
        with pytest.raises(errors.Unreachable):
            client.get_stats()
