"""Errors have one shape and a documented code; every route needs a role."""

import asyncio
import json
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import redis
from fastapi.routing import APIRoute

from service.api.roles import ROLES
from service.http.auth import KeyCheck, is_loopback
from service.http.codes import CODES
from service.settings import Settings
from service.store.api_keys import ApiKeys, KeyRing, Role, read_ring, revoke_key
from service.store.clock import now_ms
from service.store.gate import Gate
from service.store.profiles.reader import ProfileReader
from service.store.pulse import Pulse
from tests.api import JSON, Api, check_problem, exchange, served
from tests.server import wait_until
from tests.service.route_requests import BODIES, NO_BODY_NEEDED, call


def test_every_route_has_a_role(api: Api) -> None:
    routes = {
        (method, route.path_format)
        for route in api.app.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    assert routes == set(ROLES)
    others = {route.path for route in api.app.routes if not isinstance(route, APIRoute)}
    pages = {"/", "/console", "/console/{name:path}", "/docs", "/docs/interactive"}
    # the routes of Gorse check their callers themselves
    pages |= {"/docs/errors", "/llms.txt", "/openapi.json"}
    assert others == pages | {"/docs/interactive/files", "/api"}


@pytest.mark.parametrize(("method", "route"), ROLES)
def test_unknown_parameters_are_refused(api: Api, method: str, route: str) -> None:
    answer = call(api, method, route, "?colour=green")
    problem = check_problem(answer, 422, "invalid_request")
    assert problem["errors"][0]["field"] == "query.colour"


def test_many_parameters_take_no_time(api: Api) -> None:
    query = "&".join(f"p{i}=" for i in range(8_000))
    started = time.thread_time()
    check_problem(api("GET", f"/v1/stats?{query}"), 422, "invalid_request")
    # a linear search for each name would block all requests for most of a second
    assert time.thread_time() - started < 0.3


# other methods of the audience are those of an item that is called so
@pytest.mark.parametrize("route", sorted({route for _, route in ROLES} - {"/v1/items/audience"}))
def test_other_methods_are_refused(api: Api, route: str) -> None:
    known = {method for method, own in ROLES if own == route}
    for method in {"GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"} - known:
        answer = call(api, method, route)
        problem = check_problem(answer, 405, "method_not_allowed")
        head = {"HEAD"} if "GET" in known else set()
        assert set(answer.headers["allow"].split(", ")) == known | head
        assert answer.headers["allow"] in problem["detail"]


def test_unknown_paths_are_refused(api: Api) -> None:
    for path in (
        "/",
        "/v1",
        "/v2/ratings",
        "/v1/ratings/",
        "/v1/users/a/b/c",
        "/%2F",
        "/v1//items",
    ):
        check_problem(api("GET", path), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "route"),
    [key for key in ROLES if key[0] in {"PUT", "PATCH"} or (key[1] in BODIES and key[0] == "POST")],
)
def test_bodies_that_are_no_json_are_refused(api: Api, method: str, route: str) -> None:
    path = re.sub(r"{(\w+)}", lambda m: "b" if m[1] == "item" else "a", route)
    for known in ("/v1/items/b", "/v1/users/a"):
        api("PUT", known, json={})
    none = () if route in NO_BODY_NEEDED else (b"",)
    for body in (b"{", *none, b"\xff", b'{"a": NaN}', b"[" * 100_000):
        answer = api(method, path, content=body, headers=JSON)
        assert answer.status_code in {400, 422}, body[:20]
        check_problem(answer, answer.status_code, answer.json()["code"])
    if route in NO_BODY_NEEDED:
        return  # a body of another content type counts as no body
    form = api(method, path, content=b"a=b", headers={"content-type": "text/plain"})
    check_problem(form, form.status_code, form.json()["code"])
    assert form.status_code in {415, 422}
    for value in ({"\ud800": 1}, 7, None, "text"):
        answer = api(method, path, content=json.dumps(value).encode(), headers=JSON)
        assert answer.status_code == 422, value
        check_problem(answer, 422, answer.json()["code"])


def test_a_long_body_is_refused_before_it_is_read_whole(redis_url: str, namespace: str) -> None:
    with Api(Settings(namespace=namespace, max_body_bytes=1024), redis_url) as api:
        padding = {"user": "a" * 2_000, "item": "b", "rating": 1}
        for method, path in (
            ("POST", "/v1/ratings"),
            ("PUT", "/v1/items/x"),
            ("PATCH", "/v1/items/x"),
        ):
            check_problem(api(method, path, json=padding), 413, "too_large")


def test_a_stream_needs_its_content_type(api: Api) -> None:
    for route in ("/v1/ratings/stream", "/v1/items", "/v1/users"):
        for headers in ({}, {"content-type": "text/plain"}):
            answer = api("POST", route, content=b"{}", headers=headers)
            check_problem(answer, 415, "unsupported_media_type")


def test_a_bug_is_a_500_that_says_nothing_of_itself(api: Api) -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("secret")

    api.app.state.runtime = replace(api.runtime, profiles=cast("ProfileReader", Broken()))
    api.app.state.intake = Broken()
    for method, route in (("GET", "/v1/users/{user}/ratings"), ("POST", "/v1/ratings")):
        answer = call(api, method, route)
        check_problem(answer, 500, "internal")
        assert "secret" not in answer.text


IN_MEMORY = {
    *("/healthz", "/readyz", "/v1/categories", "/v1/popular", "/v1/trending", "/v1/latest"),
    *("/metrics", "/v1/topics", "/v1/alarms"),
}


def test_a_store_that_is_gone_is_a_503_for_all_that_is_not_in_memory(
    private_server: Any, namespace: str
) -> None:
    settings = Settings(namespace=namespace, store_patience_ms=50)
    with Api(settings, private_server.url) as api:
        api("GET", "/v1/users/a/predictions/b")
        # a catalogue that was not read before the store went would be missing, too
        wait_until(lambda: "catalogue" not in api("GET", "/readyz").json().get("missing", ()))
        private_server.kill()
        wait_until(lambda: "x-stale-seconds" in api("GET", "/healthz").headers)
        ready = api("GET", "/readyz").json()
        assert (ready["serving"], ready["accepting"], ready["learning"]) == (True, False, False)
        assert ready["stale_s"] >= 0.0
        assert "Redis does not answer" in ready["warning"]
        # a request that is no WebSocket is told so, whatever the store does
        for method, route in ROLES.keys() - {("GET", "/v1/events/ws")}:
            answer = call(api, method, route)
            assert float(answer.headers["x-stale-seconds"]) >= 0.0
            assert (answer.status_code == 200) == (route in IN_MEMORY), route
            if route not in IN_MEMORY:
                check_problem(answer, 503, "store_unavailable")


def test_items_that_nobody_has_taken_are_listed_while_the_store_is_gone(
    private_server: Any, namespace: str
) -> None:
    with Api(Settings(namespace=namespace, store_patience_ms=50), private_server.url) as api:

        def listed() -> list[str]:
            return [one["item"] for one in api("GET", "/v1/popular").json()["items"]]

        # with so little patience a busy machine may refuse it at first
        wait_until(lambda: api("PUT", "/v1/items/new", json={}).status_code == 200)
        wait_until(lambda: listed() == ["new"])
        private_server.kill()
        wait_until(lambda: "x-stale-seconds" in api("GET", "/healthz").headers)
        assert listed() == ["new"]


def test_a_store_that_cannot_write_its_files_is_a_503(private_server: Any, namespace: str) -> None:
    with redis.Redis.from_url(private_server.url) as client:
        files = Path(client.config_get("dir")["dir"])
        # a folder in the place of the file: then the server takes no writes, as with a full disk
        (files / "dump.rdb" / "x").mkdir(parents=True)
        client.config_set("save", "3600 1")
        with Api(Settings(namespace=namespace), private_server.url) as api:
            client.bgsave()
            wait_until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")
            api.runtime.append_queue._lanes[0]._log._retry_s = 0.05
            rating = call(api, "POST", "/v1/ratings")
            for refused in (api("PUT", "/v1/items/a", json={}), rating):
                check_problem(refused, 503, "store_unavailable")
            client.config_set("save", "")
            assert api("PUT", "/v1/items/a", json={}).status_code == 200


@pytest.mark.parametrize("role", ["read", "write", "admin"])
def test_a_role_opens_its_routes_and_no_others(api: Api, role: Role) -> None:
    api.new_key("admin", "the first")
    _, secret = api.new_key(role, "test")
    ranks = {"open": 0, "read": 1, "write": 2, "admin": 3}
    for (method, route), need in ROLES.items():
        answer = call(api, method, route, authorization=f"Bearer {secret}")
        if ranks[need] > ranks[role]:
            check_problem(answer, 403, "forbidden")
        else:
            assert answer.status_code not in {401, 403}, (method, route, answer.text)


def test_without_a_valid_key_nothing_is_open_once_there_is_one(api: Api) -> None:
    api.ready()
    key, secret = api.new_key("admin", "test")
    wrong = (
        "",
        "Bearer",
        f"Basic {secret}",
        f"Bearer {secret}x",
        f"Bearer {secret[:-1]}",
        f"Bearer hr_{'0' * 12}_{secret.split('_', 2)[2]}",
        f"Bearer hr_{key.id}_",
        f"Bearer xx{secret[2:]}",
    )
    for (method, route), need in ROLES.items():
        for authorization in wrong if route == "/v1/stats" else wrong[:1]:
            answer = call(api, method, route, authorization=authorization)
            if need == "open":
                assert answer.status_code == 200
            else:
                check_problem(answer, 401, "unauthorised")
                assert answer.headers["www-authenticate"] == "Bearer"


def test_a_refusal_says_what_is_wrong_with_the_key(api: Api) -> None:
    _, secret = api.new_key("admin", "test")
    for headers, says in (
        ({}, "no API key was sent"),
        ({"authorization": secret}, "the header Authorization is not `Bearer` and a key"),
        ({"authorization": "Bearer "}, "the header Authorization is not `Bearer` and a key"),
        ({"authorization": f"Bearer {secret}x"}, "this API key is unknown, revoked or expired"),
    ):
        answer = api("GET", "/v1/stats", headers=headers)
        assert says in check_problem(answer, 401, "unauthorised")["detail"]


def test_a_key_with_an_end_works_until_then(api: Api) -> None:
    _, admin = api.new_key("admin", "operator")
    headers = {"authorization": f"Bearer {admin}"}
    body = {"role": "read", "name": "guest", "days": 1}
    made = api("POST", "/v1/admin/keys", json=body, headers=headers).json()
    assert made["expires"] > made["created"]
    guest = {"authorization": f"Bearer {made['secret']}"}
    assert api("GET", "/v1/stats", headers=guest).status_code == 200
    # a key that was accepted a moment ago is refused from its end on
    end = now_ms() + 2_000
    key, secret = api.run(api.runtime.keys.create("read", "guest", end))
    api.app.state.key_check.note(key)
    guest = {"authorization": f"Bearer {secret}"}
    assert api("GET", "/v1/stats", headers=guest).status_code == 200 or now_ms() >= end
    wait_until(lambda: api("GET", "/v1/stats", headers=guest).status_code == 401)
    assert now_ms() >= end
    for days in (0, -1, 1e9, "1 day"):
        refused = api("POST", "/v1/admin/keys", json=body | {"days": days}, headers=headers)
        check_problem(refused, 422, "invalid_request")


def test_a_new_key_works_at_once_in_every_process(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace)
    with Api(settings, redis_url) as api, Api(settings, redis_url) as other:
        headers: dict[str, str] = {}
        for name in ("first", "second", "third"):
            new = {"role": "admin", "name": name}
            made = api("POST", "/v1/admin/keys", json=new, headers=headers)
            assert made.status_code == 201
            headers = {"authorization": f"Bearer {made.json()['secret']}"}
            assert api("GET", "/v1/stats", headers=headers).status_code == 200
            assert other("GET", "/v1/stats", headers=headers).status_code == 200


def test_the_first_key_acts_at_once_where_it_was_made(api: Api) -> None:
    assert api("GET", "/v1/stats").status_code == 200
    made = api("POST", "/v1/admin/keys", json={"role": "admin", "name": "me"})
    assert made.status_code == 201
    check_problem(api("GET", "/v1/stats"), 401, "unauthorised")


def test_a_key_that_is_revoked_here_stops_working_here_at_once(api: Api) -> None:
    new = {"role": "admin", "name": "me"}
    mine = {"authorization": f"Bearer {api('POST', '/v1/admin/keys', json=new).json()['secret']}"}
    other = api("POST", "/v1/admin/keys", json=new, headers=mine).json()
    theirs = {"authorization": f"Bearer {other['secret']}"}
    assert api("GET", "/v1/stats", headers=theirs).status_code == 200
    api("DELETE", f"/v1/admin/keys/{other['id']}", headers=mine)
    check_problem(api("GET", "/v1/stats", headers=theirs), 401, "unauthorised")


def test_before_the_first_key_is_known_everywhere_nobody_writes_without_it(
    redis_url: str, namespace: str
) -> None:
    settings = Settings(namespace=namespace)
    with Api(settings, redis_url) as api, Api(settings, redis_url) as other:
        assert other("GET", "/v1/stats").status_code == 200
        made = api("POST", "/v1/admin/keys", json={"role": "admin", "name": "me"})
        for method, path, body in (
            ("POST", "/v1/events", {"user": "ada", "item": "tt1", "rating": 4}),
            ("PUT", "/v1/items/tt1", {}),
            ("POST", "/v1/admin/keys", {"role": "admin", "name": "a stranger"}),
        ):
            check_problem(other(method, path, json=body), 401, "unauthorised")
        assert [key.id for key in api.run(api.runtime.keys.ring()).keys.values()] == [
            made.json()["id"]
        ]


@pytest.mark.parametrize("role", ["read", "write"])
def test_the_first_key_must_be_an_admin_key(api: Api, role: str) -> None:
    refused = api("POST", "/v1/admin/keys", json={"role": role, "name": "me"})
    problem = check_problem(refused, 409, "conflict")
    assert "the first key must have the role `admin`" in problem["detail"]
    assert api("GET", "/v1/stats").status_code == 200, "still open"


class CountedKeys:
    """The keys of a store, and how often they were read."""

    def __init__(self, keys: ApiKeys) -> None:
        self._keys, self.reads = keys, 0

    async def latest(self) -> KeyRing:
        self.reads += 1
        return await self._keys.latest()


def test_unknown_keys_are_looked_up_together(api: Api) -> None:
    key, _ = api.new_key("admin", "test")
    keys = CountedKeys(api.runtime.keys)
    pulse = Pulse(cast("ApiKeys", keys), Gate(), 5.0)
    api.app.state.key_check = KeyCheck(pulse, api.settings.host)
    api.run(pulse.start())

    async def ask(n: int) -> list[int]:
        wrong = [{"authorization": f"Bearer hr_{key.id}_{at}"} for at in range(n)]
        answers = await asyncio.gather(
            *(api.client.get("/v1/stats", headers=headers) for headers in wrong)
        )
        return [answer.status_code for answer in answers]

    assert api.run(ask(50)) == [401] * 50
    # some come from the pulse, and more of them on a slow machine
    assert 0 < keys.reads < 50
    api.run(pulse.close())


@pytest.fixture
def forgetful_api(redis_url: str, namespace: str) -> Iterator[Api]:
    """The application that reads the keys again for each request."""
    with Api(Settings(namespace=namespace), redis_url, keys_fresh_s=0.0) as api:
        yield api


def test_a_revoked_key_stays_known_and_stops_working(forgetful_api: Api) -> None:
    api = forgetful_api
    made = api("POST", "/v1/admin/keys", json={"role": "admin", "name": "me"})
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    key = made.json()
    headers = {"authorization": f"Bearer {key['secret']}"}
    other = api("POST", "/v1/admin/keys", json={"role": "read", "name": "it"}, headers=headers)
    listed = api("GET", "/v1/admin/keys", headers=headers).json()["items"]
    assert {(one["name"], one["role"], one["revoked"]) for one in listed} == {
        ("me", "admin", None),
        ("it", "read", None),
    }
    assert "secret" not in json.dumps(listed)
    assert other.json()["secret"] not in str(
        api.run(api.runtime.redis.hgetall(f"hr:{{{api.settings.namespace}}}:api-keys"))
    )
    # the last one could not be revoked
    api("POST", "/v1/admin/keys", json={"role": "admin", "name": "you"}, headers=headers)
    gone = api("DELETE", f"/v1/admin/keys/{key['id']}", headers=headers)
    assert gone.json()["revoked"]
    check_problem(api("GET", "/v1/stats", headers=headers), 401, "unauthorised")
    theirs = {"authorization": f"Bearer {other.json()['secret']}"}
    assert api("GET", "/v1/stats", headers=theirs).status_code == 200
    check_problem(api("DELETE", "/v1/admin/keys/000000000000", headers=theirs), 403, "forbidden")


def test_beyond_loopback_nothing_is_open_without_a_key(redis_url: str, namespace: str) -> None:
    with Api(Settings(namespace=namespace, host="0.0.0.0"), redis_url) as api:  # noqa: S104
        check_problem(api("GET", "/v1/stats"), 401, "unauthorised")
        assert api("GET", "/healthz").status_code == 200


def test_loopback_is_what_only_this_machine_reaches() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "")))  # noqa: S104


def test_a_client_that_leaves_early_leaves_nothing_behind(redis_url: str, namespace: str) -> None:
    with served(Settings(namespace=namespace), redis_url) as address:
        for _ in range(5):
            with socket.create_connection(address) as client:
                client.sendall(
                    b"POST /v1/ratings HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n"
                    b"content-type: application/json\r\n\r\n{"
                )
        assert exchange(address, b"GET /healthz HTTP/1.1\r\n").startswith(b"HTTP/1.1 200")


def test_the_codes_of_errors_are_the_codes_of_the_table() -> None:
    from service import errors, ids  # noqa: PLC0415
    from service.http import cursors  # noqa: PLC0415
    from service.store.catalogue import numbers  # noqa: PLC0415

    raised = {
        error.code: error.status
        for module in (errors, ids, cursors, numbers)
        for error in vars(module).values()
        if isinstance(error, type) and issubclass(error, errors.ServiceError)
    }
    for code in ("misconfigured", "superseded"):  # never an answer: they end a process
        raised.pop(code, None)
    assert {code: one.status for code, one in CODES.items() if code in raised} == raised


def test_the_last_admin_key_cannot_be_revoked_here(api: Api, client: redis.Redis) -> None:
    last, secret = api.new_key("admin", "last")
    _, writer = api.new_key("write", "shop")
    headers = {"authorization": f"Bearer {secret}"}
    refused = api("DELETE", f"/v1/admin/keys/{last.id}", headers=headers)
    assert "hedgerow keys revoke" in check_problem(refused, 409, "conflict")["detail"]
    new = api("POST", "/v1/admin/keys", json={"role": "admin", "name": "next"}, headers=headers)
    assert api("DELETE", f"/v1/admin/keys/{last.id}", headers=headers).status_code == 200
    theirs = {"authorization": f"Bearer {new.json()['secret']}"}
    assert api("GET", "/v1/admin/keys", headers=theirs).status_code == 200
    # revoked ones count for nothing, and on the machine there is a way out
    refused = api("DELETE", f"/v1/admin/keys/{new.json()['id']}", headers=theirs)
    check_problem(refused, 409, "conflict")
    revoke_key(client, api.settings.namespace, new.json()["id"])
    left = read_ring(client, api.settings.namespace).keys.values()
    assert {key.name for key in left if key.revoked is None} == {"shop"}
    assert read_ring(client, api.settings.namespace).authenticate(writer.encode()).role == "write"
