"""The api process that erases deleted users."""

from service.settings import Settings
from service.store.connection import Client
from service.store.keys import NamespaceKeys
from tests.api import Api, learning
from tests.server import wait_until


def test_who_ends_lets_another_process_erase_at_once(
    client: Client, redis_url: str, namespace: str
) -> None:
    settings, lease = Settings(namespace=namespace), NamespaceKeys(namespace).eraser
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        api.ready()
        api("PUT", "/v1/users/ada", json={})
        erasure = api("DELETE", "/v1/users/ada").json()["erasure"]
        # the loop of this application runs during requests only
        wait_until(lambda: api("GET", f"/v1/erasures/{erasure}").json()["erased"] is not None)
        assert client.exists(lease)
    assert not client.exists(lease)
