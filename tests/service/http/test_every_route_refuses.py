"""Every route of the application refuses whoever may not use it, in each way that there is.

The routes come from the application's own table, so a new one is tested by being there.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx
import pytest

from service.api.roles import ROLES
from service.http.sites import SAFE
from service.settings import Settings
from service.store.clock import now_ms
from tests.api import Api, check_problem
from tests.service.route_requests import call

CLOSED = [route for route, need in ROLES.items() if need != "open"]
LOWER = {"admin": "write", "write": "read"}


class Caller(NamedTuple):
    """Somebody who may not use a route: the headers of each request, and what it gets."""

    headers: Callable[["Keys", str], dict[str, str]]
    status: int
    code: str
    concerns: Callable[[str, str], bool] = lambda method, need: need != "open"
    """Whether (method, role of the route) is refused."""


class Keys(NamedTuple):
    """The secrets of a namespace, and of another one."""

    working: dict[str, str]
    revoked: str
    expired: str
    elsewhere: str


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


CALLERS = {
    "without a key": Caller(lambda keys, need: {}, 401, "unauthorised"),
    "with a wrong secret": Caller(
        lambda keys, need: bearer(keys.working["admin"][:-1] + "!"), 401, "unauthorised"
    ),
    "with a revoked key": Caller(lambda keys, need: bearer(keys.revoked), 401, "unauthorised"),
    "with an expired key": Caller(lambda keys, need: bearer(keys.expired), 401, "unauthorised"),
    "with another namespace's key": Caller(
        lambda keys, need: bearer(keys.elsewhere), 401, "unauthorised"
    ),
    "with a lower role": Caller(
        lambda keys, need: bearer(keys.working[LOWER[need]]),
        403,
        "forbidden",
        lambda method, need: need in LOWER,
    ),
    "by another host": Caller(
        lambda keys, need: bearer(keys.working["admin"]) | {"host": "evil.example"},
        421,
        "untrusted_host",
        lambda method, need: True,
    ),
    "from another site": Caller(
        lambda keys, need: bearer(keys.working["admin"]) | {"origin": "https://evil.example"},
        403,
        "foreign_origin",
        lambda method, need: method not in SAFE,
    ),
}


@pytest.fixture(scope="module")
def guarded(redis_server: str) -> Iterator[tuple[Api, Keys]]:
    with (
        Api(Settings(namespace="guarded-other"), redis_server) as other,
        Api(Settings(namespace="guarded"), redis_server) as api,
    ):
        working: dict[str, str] = {}
        for role in ("admin", "write", "read"):
            _, working[role] = api.new_key(role, role)
        key, revoked = api.new_key("admin", "revoked")
        api.app.state.key_check.note(api.run(api.runtime.keys.revoke(key.id)))
        _, expired = api.run(api.runtime.keys.create("admin", "expired", now_ms()))
        _, elsewhere = other.new_key("admin", "elsewhere")
        yield api, Keys(working, revoked, expired, elsewhere)


@pytest.mark.parametrize("how", CALLERS)
def test_every_route_refuses(guarded: tuple[Api, Keys], how: str) -> None:
    api, keys = guarded
    caller, refused = CALLERS[how], 0

    def send(method: str, path: str, **more: Any) -> httpx.Response:
        # not as ``api`` does: what is refused before any route is in no route's document
        return api.run(api.client.request(method, path, **more))

    for (method, route), need in ROLES.items():
        if caller.concerns(method, need):
            answer = call(send, method, route, **caller.headers(keys, need))
            check_problem(answer, caller.status, caller.code)
            refused += 1
    assert refused > 15


def test_the_key_of_the_namespace_is_not_refused(guarded: tuple[Api, Keys]) -> None:
    api, keys = guarded
    for method, route in CLOSED:
        if method == "GET":
            answer = call(api, method, route, **bearer(keys.working["admin"]))
            assert answer.status_code not in {401, 403, 421}, (route, answer.text)
