"""A store that loses its API keys opens nothing, and brings back no key that was revoked."""

import pytest

from service.settings import Settings
from service.store.api_keys import create_key, revoke_key
from service.store.keys import NamespaceKeys
from tests.api import Api, check_problem


@pytest.fixture
def quick_api(redis_url, namespace, tmp_path):
    """The application, which reads the keys before each request."""
    settings = Settings(namespace=namespace, data_dir=tmp_path)
    with Api(settings, redis_url, keys_fresh_s=0.0) as api:
        yield api


def asked(api, secret=None):
    headers = {} if secret is None else {"authorization": f"Bearer {secret}"}
    return api("GET", "/v1/stats", headers=headers)


def test_a_service_that_had_keys_does_not_open_without_them(quick_api, client, namespace):
    assert asked(quick_api).status_code == 200
    _, secret = create_key(client, namespace, "admin", "shop")
    assert asked(quick_api).status_code == 401
    client.delete(NamespaceKeys(namespace).api_keys)
    check_problem(asked(quick_api), 401, "unauthorised")
    made = quick_api("POST", "/v1/admin/keys", json={"role": "admin", "name": "a stranger"})
    check_problem(made, 401, "unauthorised")
    assert asked(quick_api, secret).status_code == 200, "who was known goes on"


def test_the_refusal_says_that_the_keys_are_lost(redis_url, client, namespace, tmp_path):
    with Api(Settings(namespace=namespace, data_dir=tmp_path), redis_url) as api:
        api.app.state.key_check.had_keys = True
        problem = check_problem(asked(api), 401, "unauthorised")
        assert "lost its API keys" in problem["detail"]
        assert "hedgerow keys create" in problem["detail"]
        _, secret = create_key(client, namespace, "admin", "shop")
        assert asked(api, secret).status_code == 200


def test_a_revoked_key_stays_revoked_when_its_revocation_is_lost(quick_api, client, namespace):
    _, admin = create_key(client, namespace, "admin", "admin")
    key, secret = create_key(client, namespace, "admin", "shop")
    before = client.dump(NamespaceKeys(namespace).api_keys)
    assert asked(quick_api, secret).status_code == 200
    revoke_key(client, namespace, key.id)
    assert asked(quick_api, secret).status_code == 401
    client.restore(NamespaceKeys(namespace).api_keys, 0, before, replace=True)
    assert asked(quick_api, secret).status_code == 401
    assert asked(quick_api, admin).status_code == 200


def test_the_keys_of_another_store_open_nothing(quick_api, client, namespace):
    _, secret = create_key(client, namespace, "admin", "shop")
    assert asked(quick_api, secret).status_code == 200
    client.hset(NamespaceKeys(namespace).settings, "identity", "0123456789abcdef.0.01234567")
    _, foreign = create_key(client, namespace, "admin", "a stranger")
    assert asked(quick_api, foreign).status_code == 401
    assert asked(quick_api, secret).status_code == 200
