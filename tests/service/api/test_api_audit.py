"""The audit log: every act of an operator is in it, with who, what and how it ended."""

import json
from typing import Any

import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner

from service.api.roles import ACTS, ROLES
from service.api.routing import RawRoute, Route
from service.app import ROUTERS
from service.cli.operators import audit, keys, models
from service.errors import NotFound
from service.settings import Settings
from service.store.audit import Act, Audit, acting
from service.store.connection import connect
from service.store.keys import NamespaceKeys, pattern_of
from tests.api import Api
from tests.server import PrivateServer

ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, Route)]


def acts(api: Api, **headers: str) -> list[tuple[str, str, dict[str, str], str]]:
    """Return the log, the oldest act first."""
    items = api("GET", "/v1/audit", headers=headers).json()["items"]
    return [(one["who"], one["act"], one["about"], one["result"]) for one in reversed(items)]


def test_whatever_an_admin_changes_is_noted_by_construction() -> None:
    noted = {(method, route.path_format) for route in ROUTES for method in route.needs}
    assert noted >= ACTS
    for (method, path), need in ROLES.items():
        if need == "admin" and method != "GET":
            assert (method, path) in ACTS
    raw = [route for router in ROUTERS for route in router.routes if isinstance(route, RawRoute)]
    assert not {(m, route.path_format) for route in raw for m in route.needs} & ACTS


def test_acts_are_noted_with_the_key_that_did_them(api: Api) -> None:
    first, secret = api.new_key("admin", "operations")
    bearer = {"authorization": f"Bearer {secret}"}
    body = {"role": "read", "name": "shop"}
    made = api("POST", "/v1/admin/keys", json=body, headers=bearer).json()
    assert api("DELETE", f"/v1/admin/keys/{made['id']}", headers=bearer).is_success
    assert api("DELETE", f"/v1/admin/keys/{first.id}", headers=bearer).status_code == 409
    unknown = "f" * 12
    assert api("POST", f"/v1/models/{unknown}/promote", headers=bearer).status_code == 404
    job = api("POST", "/v1/retrain", json={"model": "fbgd"}, headers=bearer).json()["id"]
    assert api("POST", "/v1/retrain", json={"model": "crystal"}, headers=bearer).is_client_error
    who = f"key {first.id}"
    log = acts(api, **bearer)
    assert log == [
        (who, "createKey", {"key": made["id"], "role": "read"}, "done"),
        (who, "revokeKey", {"key": made["id"]}, "done"),
        (who, "revokeKey", {"key": first.id}, "conflict"),
        (who, "promoteModel", {"version": unknown}, "not_found"),
        (who, "retrain", {"job": job}, "done"),
        (who, "retrain", {}, "invalid_training"),
    ]
    stream = api.run(api.runtime.redis.xrange(NamespaceKeys(api.settings.namespace).audit))
    assert made["secret"].split("_")[2].encode() not in b"".join(
        text for _, fields in stream for text in fields.values()
    )
    # who may not act has done nothing
    reader = {"authorization": f"Bearer {api.new_key('read', 'x')[1]}"}
    for headers in ({}, reader):
        assert api("POST", "/v1/retrain", headers=headers).is_client_error
        assert api("GET", "/v1/audit", headers=headers).is_client_error
    assert acts(api, **bearer) == log


def test_a_key_that_nobody_checked_is_not_noted(api: Api) -> None:
    # without keys everything is open on loopback, whatever is sent
    forged = {"authorization": "Bearer hr_5c1d9a0077aa_secret"}
    assert api("DELETE", "/v1/users/bob", headers=forged).is_success
    [(who, *_)] = acts(api)
    assert who == "local"


def test_the_log_does_not_name_a_deleted_user(learned_api: Api) -> None:
    learned_api("PUT", "/v1/users/zz-ghost", json={})
    learned_api("PUT", "/v1/items/a%2Fb", json={})
    learned_api("GET", "/v1/users/zz-ghost/export")
    deleted = learned_api("DELETE", "/v1/users/zz-ghost").json()
    learned_api("DELETE", "/v1/items/a%2Fb")
    assert acts(learned_api) == [
        ("local", "exportUser", {}, "done"),
        ("local", "deleteUser", {"erasure": deleted["erasure"]}, "done"),
        ("local", "deleteItem", {"item": "a/b"}, "done"),
    ]


def test_the_log_has_pages_and_a_bound(api: Api, client) -> None:
    log = Audit(client, api.settings.namespace, kept=200)
    for number in range(1_000):
        log.note(Act("a test", "rebuild", {"number": str(number)}, "done"))
    found: list[Any] = []
    cursor = ""
    while cursor is not None:
        page = api("GET", f"/v1/audit?limit=60{cursor and '&cursor=' + cursor}").json()
        found += [int(one["about"]["number"]) for one in page["items"]]
        cursor = page["next_cursor"]
    assert found == list(range(999, 999 - len(found), -1))
    # the server removes a hundred together
    assert 200 <= len(found) <= 300
    assert api("GET", "/v1/audit?cursor=x").status_code == 422


def test_an_act_that_cannot_be_noted_is_in_the_log_of_the_process(
    private_server: PrivateServer, tmp_path
) -> None:
    settings = Settings(data_dir=tmp_path)
    with Api(settings, private_server.url) as api, capture_logs() as logs:
        # full: it answers, and takes no writes
        api.run(api.runtime.redis.config_set("maxmemory", "1"))
        assert api("POST", f"/v1/models/{'f' * 12}/promote").status_code == 404
    [noted] = [entry for entry in logs if entry["event"] == "act_not_noted"]
    assert (noted["act"], noted["who"], noted["result"]) == ("promoteModel", "local", "not_found")


def test_the_command_line_notes_its_acts_and_shows_them(redis_url: str, namespace: str) -> None:
    environment = {
        "HEDGEROW_REDIS_URL": redis_url,
        "HEDGEROW_NAMESPACE": namespace,
        "COLUMNS": "160",
    }

    def type_in(app: Any, *arguments: str) -> Any:
        return CliRunner().invoke(app, arguments, env=environment)

    made = type_in(keys.app, "create", "--json")
    assert made.exit_code == 0, made.output
    unknown = type_in(models.app, "promote", "f" * 12, "--why", "fewer complaints")
    with pytest.raises(NotFound):
        raise unknown.exception
    shown = type_in(audit.app, "--json")
    assert shown.exit_code == 0, shown.output
    log = json.loads(shown.stdout)
    assert [(one["who"], one["act"], one["result"]) for one in log] == [
        ("command line", "promoteModel", "not_found"),
        ("command line", "createKey", "done"),
    ]
    assert log[0]["about"] == {"version": "f" * 12, "why": "fewer complaints"}
    assert log[1]["about"] == {"key": json.loads(made.stdout)["id"], "role": "admin"}
    assert "createKey" in type_in(audit.app).stdout


def test_a_verb_that_did_its_work_ends_well_though_it_cannot_be_noted(
    private_server: PrivateServer,
) -> None:
    with connect(private_server.url, role="test") as client, capture_logs() as logs:
        client.config_set("maxmemory", "1")
        with acting(client, "shop", "createKey", role="read") as about:
            about["key"] = "5c1d9a0077aa"
    [noted] = [entry for entry in logs if entry["event"] == "act_not_noted"]
    assert (noted["act"], noted["result"]) == ("createKey", "done")
    assert noted["about"] == {"role": "read", "key": "5c1d9a0077aa"}


def test_a_verb_that_fails_leaves_nothing_in_a_namespace_that_is_not_there(
    client, namespace: str
) -> None:
    with pytest.raises(NotFound), acting(client, namespace, "promoteModel"):
        raise NotFound("there is no such model")
    assert list(client.scan_iter(pattern_of(namespace), count=10_000)) == []


def test_a_verb_that_is_interrupted_is_noted(api: Api, client) -> None:
    with pytest.raises(KeyboardInterrupt), acting(client, api.settings.namespace, "rebuild"):
        raise KeyboardInterrupt
    assert acts(api) == [("command line", "rebuild", {}, "interrupted")]
