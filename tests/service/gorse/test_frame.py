"""The frame of /api: keys, errors in plain text, unknown routes, health, and how to turn it off."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from service.api.gorse.routes import ROUTES
from service.settings import Settings
from tests.api import Api


@pytest.fixture(scope="module")
def guarded(redis_server: str) -> Iterator[tuple[Api, dict[str, str]]]:
    with Api(Settings(namespace="gorse-guarded"), redis_server) as api:
        api.ready()
        roles: Any = ("admin", "read", "write")
        yield api, {role: api.new_key(role, role)[1] for role in roles}


def request(api: Api, method: str, path: str, key: str | None) -> httpx.Response:
    headers = {"content-type": "application/json"} | ({} if key is None else {"x-api-key": key})
    return api(method, path, headers=headers, content=b"{}" if method != "GET" else None)


def test_every_route_needs_a_key_with_its_role(guarded: tuple[Api, dict[str, str]]) -> None:
    api, keys = guarded
    for route in ROUTES:
        path = "/api" + route.path.replace("[", "").replace("]", "").replace("{", "").replace(
            "}", ""
        )
        if route.need == "open":
            assert request(api, route.method, path, None).status_code == 200
            continue
        for key in (None, "", "wrong", keys["read"] + "x"):
            answer = request(api, route.method, path, key)
            assert (answer.status_code, answer.text) == (401, "unauthorized"), route
            assert answer.headers["content-type"].startswith("text/plain")
        if route.need == "write":
            assert request(api, route.method, path, keys["read"]).status_code == 403, route


def test_only_what_a_caller_may_do_gets_into_the_audit_log(
    guarded: tuple[Api, dict[str, str]],
) -> None:
    api, keys = guarded
    for path in ("/api/user/nobody", "/api/item/nothing"):
        for key in (None, "wrong", keys["read"]):
            assert request(api, "DELETE", path, key).status_code in {401, 403}
    assert request(api, "DELETE", "/api/item/allowed", keys["write"]).status_code == 200
    admin = {"authorization": f"Bearer {keys['admin']}"}
    notes = api("GET", "/v1/audit", headers=admin).json()["items"]
    about = [note["about"] for note in notes if note["act"].startswith("delete")]
    assert about == [{"item-id": "allowed"}]


def test_a_parameter_without_a_name_makes_no_request_a_write(
    guarded: tuple[Api, dict[str, str]],
) -> None:
    api, keys = guarded
    assert request(api, "GET", "/api/users?=1", keys["read"]).status_code == 200


def test_a_key_of_ours_works_in_either_header(guarded: tuple[Api, dict[str, str]]) -> None:
    api, keys = guarded
    assert request(api, "GET", "/api/users", keys["read"]).status_code == 200
    bearer = {"authorization": f"Bearer {keys['read']}"}
    assert api("GET", "/api/users", headers=bearer).status_code == 200


@pytest.mark.parametrize("name", ["write-back-type", "write%2Dback%2Dtype"])
def test_a_list_that_writes_needs_the_role_for_it(
    guarded: tuple[Api, dict[str, str]], name: str
) -> None:
    api, keys = guarded
    assert request(api, "GET", f"/api/recommend/u?{name}=read", keys["read"]).status_code == 403


def test_errors_are_plain_text(guarded: tuple[Api, dict[str, str]]) -> None:
    api, keys = guarded
    write = keys["write"]
    for method, path, status, says in (
        ("GET", "/api/nothing", 404, "404: Page Not Found"),
        ("GET", "/api/dump", 404, "404: Page Not Found"),
        ("PATCH", "/api/users", 405, "405: Method Not Allowed"),
        ("GET", "/api/users?n=many", 400, "n must be a whole number"),
        ("GET", "/api/users?cursor=other", 400, "send `next_cursor`"),
        ("GET", "/api/user/%FF", 400, "user-id in the path is not UTF-8"),
        ("GET", f"/api/user/{'u' * 257}", 400, "`user-id` has 257 characters"),
        ("POST", "/api/users", 400, "the body must be a list"),
        ("POST", "/api/feedback", 400, "the body must be a list"),
    ):
        answer = request(api, method, path, write)
        assert answer.headers["content-type"].startswith("text/plain"), path
        assert (answer.status_code, answer.text[: len(says)]) == (status, says)
    bare = api("POST", "/api/user", headers={"x-api-key": write}, content=b"{}")
    assert bare.status_code == 415


def test_a_trailing_slash_and_unknown_parameters_do_not_matter(
    guarded: tuple[Api, dict[str, str]],
) -> None:
    api, keys = guarded
    answer = request(api, "GET", "/api/users/?n=&x=y", keys["read"])
    assert answer.json() == {"Cursor": "", "Users": []}


def test_health_needs_no_key(guarded: tuple[Api, dict[str, str]]) -> None:
    api, _ = guarded
    for path in ("/api/health/live", "/api/health/ready"):
        answer = api("GET", path)
        assert (answer.status_code, answer.json()["Ready"]) == (200, True)


def test_the_routes_can_be_turned_off(redis_server: str) -> None:
    with Api(Settings(namespace="gorse-off", gorse_api=False), redis_server) as api:
        assert api("GET", "/api/health/live").status_code == 404
