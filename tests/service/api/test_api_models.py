"""Operators inspect models and choose the served ones."""

from typing import Any

import pytest
import redis

from service.settings import Settings
from service.store.api_keys import create_key
from service.store.connection import connect
from service.store.models.registry import Registry
from tests.api import Api
from tests.models import activated, published, snapshot
from tests.server import wait_until

UNKNOWN = "0" * 64


@pytest.fixture
def registry(api: Api) -> Registry:
    return api.runtime.registry


def pointers(api: Api) -> tuple[dict[str, str], dict[str, str]]:
    listed = api("GET", "/v1/models").json()
    return listed["active"], listed["pinned"]


def serves(api: Api, version: str) -> bool:
    served = api("GET", "/v1/models").json()["served"]
    return [(one["version"], one["fault"]) for one in served] == [(version, None)]


def test_an_empty_registry_is_an_empty_list(api: Api) -> None:
    assert api("GET", "/v1/models").json() == {
        "items": [],
        "next_cursor": None,
        "active": {},
        "pinned": {},
        "served": [],
    }
    assert api("GET", "/v1/models/changes").json() == {"items": [], "next_cursor": None}


def test_a_model_is_shown_with_its_whole_record(api: Api, registry: Registry) -> None:
    made = snapshot(seed=4)
    decision = {"outcome": "refused", "reason": "worse by 3 %"}
    record = published(registry, made, created_ms=1_795_003_200_000, decision=decision)
    [model] = api("GET", "/v1/models").json()["items"]
    assert model == {
        "version": made.version,
        "short_version": made.version[:12],
        "strategy": "fbgd",
        "title": "Matrix factorisation",
        "model": "fbgd",
        "created": "2026-11-18T12:00:00.000Z",
        "job": "job-1",
        "parameters": {"factors": 4, "seed": 4},
        "metrics": {"ndcg@10": 0.25},
        "decision": decision,
        "cuts": {"trained_through": {"0": 7}},
        "trained_through": "0:7",
        "bytes": record.bytes,
        "active": False,
        "pinned": False,
    }


def test_models_are_listed_newest_first_and_by_strategy(api: Api, registry: Registry) -> None:
    versions = [published(registry, seed=seed).version for seed in range(3)]
    other = published(registry, seed=9, strategy="ocmf").version
    listed = api("GET", "/v1/models").json()["items"]
    assert [model["version"] for model in listed] == [other, *reversed(versions)]
    only = api("GET", "/v1/models?strategy=ocmf").json()["items"]
    assert [model["version"] for model in only] == [other]
    assert api("GET", "/v1/models?strategy=fbdg").status_code == 422


def walked(api: Api, path: str, limit: int) -> list[Any]:
    """Return the entries of all pages of a list."""
    found: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = api("GET", path, params={"limit": limit} | cursor).json()
        assert len(page["items"]) <= limit
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


def test_models_and_changes_are_paged(api: Api, registry: Registry) -> None:
    for seed in range(5):
        activated(registry, seed=seed)
    for path in ("/v1/models", "/v1/models/changes"):
        whole = api("GET", path).json()
        assert (len(whole["items"]), whole["next_cursor"]) == (5, None)
        for limit in (1, 2, 5):
            assert walked(api, path, limit) == whole["items"]
    cursor = api("GET", "/v1/models?limit=2").json()["next_cursor"]
    for path, more in (("/v1/models/changes", {}), ("/v1/models", {"strategy": "fbgd"})):
        answer = api("GET", path, params={"cursor": cursor} | more)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_cursor")
    published(registry, seed=9)
    rest = api("GET", "/v1/models", params={"cursor": cursor}).json()["items"]
    assert len(rest) == 3, "what is published meanwhile moves nothing"


def test_a_promoted_model_serves_within_moments(api: Api, registry: Registry) -> None:
    old, new = activated(registry, seed=1).version, published(registry, seed=2).version
    wait_until(lambda: serves(api, old))
    answer = api("POST", f"/v1/models/{new}/promote", json={"why": "looks better"})
    assert (answer.status_code, answer.json()["version"]) == (200, new)
    assert answer.json()["active"] is True
    wait_until(lambda: serves(api, new))
    assert pointers(api) == ({"fbgd": new}, {})
    again = api("POST", f"/v1/models/{new}/promote")
    assert again.status_code == 200, "it serves already"


def test_twelve_characters_name_a_model(api: Api, registry: Registry) -> None:
    version = published(registry, seed=1).version
    assert api("POST", f"/v1/models/{version[:12]}/promote").json()["version"] == version
    assert api("PUT", f"/v1/models/{version[:20]}/pin").json()["pinned"] is True
    assert api("DELETE", f"/v1/models/{version[:12]}/pin").json()["pinned"] is False
    fewer = api("POST", f"/v1/models/{version[:11]}/promote")
    assert (fewer.status_code, fewer.json()["code"]) == (404, "not_found")
    assert "first 12 characters" in fewer.json()["detail"]


def test_a_pinned_model_keeps_its_place(api: Api, registry: Registry) -> None:
    a, b = activated(registry, seed=1).version, activated(registry, seed=2).version
    pinned = api("PUT", f"/v1/models/{a}/pin", json={"why": "audit"}).json()
    assert (pinned["active"], pinned["pinned"]) == (True, True)
    assert pointers(api) == ({"fbgd": a}, {"fbgd": a})
    for method, path in (
        ("POST", f"/v1/models/{b}/promote"),
        ("PUT", f"/v1/models/{b}/pin"),
        ("POST", "/v1/models/rollback"),
    ):
        refused = api(method, path)
        assert (refused.status_code, refused.json()["code"]) == (409, "model_pinned"), path
        assert f"version {a[:12]} of fbgd is pinned: unpin it first" in refused.json()["detail"]
    unpinned = api("DELETE", f"/v1/models/{a}/pin?why=done").json()
    assert (unpinned["active"], unpinned["pinned"]) == (True, False)
    assert api("POST", f"/v1/models/{b}/promote").status_code == 200


def test_rolling_back_without_a_word_goes_back_one_version(api: Api, registry: Registry) -> None:
    a, b = activated(registry, seed=1).version, activated(registry, seed=2).version
    assert pointers(api)[0] == {"fbgd": b}
    assert api("POST", "/v1/models/rollback").json()["version"] == a
    refused = api("POST", "/v1/models/rollback", json={"strategy": "fbgd", "why": "again"})
    assert (refused.status_code, refused.json()["code"]) == (409, "no_earlier_version")
    assert pointers(api)[0] == {"fbgd": a}


def test_rolling_back_needs_a_strategy_when_there_are_several(api: Api, registry: Registry) -> None:
    none = api("POST", "/v1/models/rollback")
    assert (none.status_code, none.json()["code"]) == (409, "no_earlier_version")
    old = activated(registry, seed=1).version
    activated(registry, seed=2)
    activated(registry, seed=3, strategy="ocmf")
    several = api("POST", "/v1/models/rollback")
    assert (several.status_code, several.json()["code"]) == (409, "conflict")
    assert "fbgd, ocmf (`hedgerow models rollback fbgd`)" in several.json()["detail"]
    chosen = api("POST", "/v1/models/rollback", json={"strategy": "fbgd"})
    assert chosen.json()["version"] == old
    assert api("POST", "/v1/models/rollback", json={"strategy": "popular"}).status_code == 422


def test_changes_say_who_when_and_why(api: Api, registry: Registry) -> None:
    a, b = activated(registry, seed=1).version, published(registry, seed=2).version
    api("POST", f"/v1/models/{b}/promote", json={"why": "by hand"})
    api("POST", "/v1/models/rollback", json={"why": "oh no"})
    changes = api("GET", "/v1/models/changes").json()["items"]
    assert [(c["action"], c["version"], c["before"], c["who"], c["why"]) for c in changes] == [
        ("rolled_back", a, b, "local", "oh no"),
        ("promoted", b, a, "local", "by hand"),
        ("promoted", a, None, "a test", ""),
    ]
    assert all(change["at"].endswith("Z") for change in changes)
    assert api("GET", "/v1/models/changes?limit=1").json()["items"] == changes[:1]


def test_stats_say_how_much_the_models_take(api: Api, registry: Registry) -> None:
    sizes = [published(registry, seed=seed).bytes for seed in range(2)]
    assert api("GET", "/v1/stats").json()["memory"]["models"] == sum(sizes)


@pytest.mark.parametrize("version", [UNKNOWN, "nope", "a%2Fb"])
@pytest.mark.parametrize(
    ("method", "rest"), [("POST", "promote"), ("PUT", "pin"), ("DELETE", "pin")]
)
def test_an_unknown_version_is_not_found(api: Api, method: str, rest: str, version: str) -> None:
    answer = api(method, f"/v1/models/{version}/{rest}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert "hedgerow models list" in answer.json()["detail"]


@pytest.mark.parametrize(
    "body", ['{"wy": ""}', '{"why": 7}', f'{{"why": "{"x" * 501}"}}', '{"strategy": "fbgd"}', "[]"]
)
def test_invalid_reasons_are_refused(api: Api, registry: Registry, body: str) -> None:
    version = published(registry).version
    headers = {"content-type": "application/json"}
    answer = api("POST", f"/v1/models/{version}/promote", content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert pointers(api) == ({}, {})


def test_a_damaged_model_is_shown_and_the_old_one_serves(api: Api, registry: Registry) -> None:
    old = activated(registry, seed=1).version
    wait_until(lambda: serves(api, old))
    new = published(registry, seed=2).version
    key = registry._chunk_keys(new)[0]
    client: redis.Redis = registry._client
    good = client.get(key)
    assert isinstance(good, bytes)
    client.set(key, bytes(len(good)))
    api("POST", f"/v1/models/{new}/promote")
    wait_until(lambda: any(one["fault"] for one in api("GET", "/v1/models").json()["served"]))
    [served] = api("GET", "/v1/models").json()["served"]
    assert (served["strategy"], served["version"]) == ("fbgd", old)
    assert "is damaged" in served["fault"]
    assert api("GET", "/readyz").status_code in (200, 503)
    api("POST", "/v1/models/rollback", json={"why": "damaged"})
    wait_until(lambda: serves(api, old))


def test_only_an_admin_changes_what_serves(api: Api, redis_url: str, namespace: str) -> None:
    version = published(api.runtime.registry).version
    with connect(redis_url, role="test") as client:
        key, admin = create_key(client, namespace, "admin", "the admin")
        _, writer = create_key(client, namespace, "write", "the shop")
    with Api(Settings(namespace=namespace, data_dir=api.settings.data_dir), redis_url) as locked:
        bearer = {"authorization": f"Bearer {writer}"}
        assert locked("GET", "/v1/models", headers=bearer).status_code == 200
        for method, path in (
            ("POST", f"/v1/models/{version}/promote"),
            ("PUT", f"/v1/models/{version}/pin"),
            ("DELETE", f"/v1/models/{version}/pin"),
            ("POST", "/v1/models/rollback"),
        ):
            assert locked(method, path, headers=bearer).status_code == 403
        allowed = {"authorization": f"Bearer {admin}"}
        assert locked("PUT", f"/v1/models/{version}/pin", headers=allowed).status_code == 200
        [change] = locked("GET", "/v1/models/changes", headers=allowed).json()["items"]
        assert change["who"] == f"key {key.id}"
