"""Web pages of others cannot use a service on loopback."""

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from service.settings import Settings
from tests.api import Api, check_problem

NEW_KEY = {"role": "admin", "name": "page"}


@pytest.fixture
def public(redis_url: str, namespace: str) -> Iterator[Any]:
    """Makes an application with settings, whose requests carry a key."""
    apis: list[Api] = []

    def make(**settings: Any) -> Any:
        api = Api(Settings(namespace=namespace, **settings), redis_url).__enter__()
        apis.append(api)
        _, secret = api.new_key("admin", "test")
        api.client.headers["authorization"] = f"Bearer {secret}"
        return api

    yield make
    for api in apis:
        api.__exit__()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST:8000", "[::1]:80", "[::1]"])
def test_names_of_loopback_are_ours(api: Api, host: str) -> None:
    assert api("GET", "/v1/stats", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example:80", "127.0.0.1.evil.example", "[::2]", "", "["],
)
def test_another_name_is_refused_on_loopback(api: Api, host: str) -> None:
    for method, path in (("GET", "/healthz"), ("GET", "/docs"), ("GET", "/nowhere")):
        answer = api.run(api.client.request(method, path, headers={"host": host}))
        problem = check_problem(answer, 421, "untrusted_host")
        assert "HEDGEROW_TRUSTED_HOSTS" in problem["detail"]
    made = api.run(api.client.post("/v1/admin/keys", json=NEW_KEY, headers={"host": host}))
    check_problem(made, 421, "untrusted_host")
    assert api("GET", "/v1/admin/keys").json()["items"] == []


def test_settings_name_more_hosts(public: Any) -> None:
    def status(api: Api, host: str) -> int:
        answer = api.run(api.client.get("/v1/stats", headers={"host": host}))
        return answer.status_code

    named = public(trusted_hosts="shop.example")
    assert [status(named, host) for host in ("shop.example:80", "localhost", "x.example")] == [
        200,
        200,
        421,
    ]
    anywhere = public(host="0.0.0.0")  # noqa: S104 - nothing listens
    assert status(anywhere, "x.example") == 200
    named_anywhere = public(host="0.0.0.0", trusted_hosts="shop.example")  # noqa: S104
    assert status(named_anywhere, "x.example") == 421
    assert status(public(trusted_hosts="*"), "x.example") == 200


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://localhost:9000", "http://localhost.evil.example", "x"],
)
def test_pages_of_other_sites_cannot_write(api: Api, origin: str) -> None:
    headers = {"host": "localhost:8000", "origin": origin}
    for method, path in (
        # no body, so no preflight would come before it
        ("POST", "/v1/retrain"),
        ("POST", "/v1/models/rollback"),
        ("POST", "/v1/admin/keys"),
        ("PUT", "/v1/items/a"),
        ("DELETE", "/v1/users/a"),
    ):
        answer = api.run(api.client.request(method, path, headers=headers))
        problem = check_problem(answer, 403, "foreign_origin")
        assert "HEDGEROW_TRUSTED_ORIGINS" in problem["detail"]
    # what it asks for, the browser does not show to it
    answer = api("GET", "/v1/stats", headers=headers)
    assert answer.status_code == 200
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_own_and_named_pages_can_write(public: Any) -> None:
    api = public(trusted_origins="https://shop.example, http://other.example:8080")
    for host, origin in (
        ("localhost:8000", "http://localhost:8000"),
        ("localhost", "http://localhost:80"),
        ("localhost", "https://shop.example"),
        ("localhost", "http://other.example:8080"),
    ):
        headers = {"host": host, "origin": origin}
        assert api("PUT", "/v1/items/a", json={}, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "path", ["/healthz", "/docs", "/docs/interactive", "/nowhere", "/v1/stats"]
)
def test_every_answer_has_the_headers_for_browsers(api: Api, path: str) -> None:
    headers = api("GET", path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers.get_list("content-security-policy") == [headers["content-security-policy"]]
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy


def test_the_interactive_page_may_run_its_own_script(api: Api) -> None:
    answer = api("GET", "/docs/interactive")
    [script] = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert f"script-src 'self' 'sha256-{digest}'" in policy
    assert "'unsafe-inline'" not in policy.partition("style-src")[0]
