"""The api process that erases deleted users."""

import json
from collections.abc import Callable
from zlib import crc32

import pytest

from service.settings import Settings
from service.store.connection import Client
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.dead_letters import DeadLetters
from tests.api import Api, learning
from tests.server import wait_until

DAMAGE: dict[str, Callable[[bytes], dict[str, bytes | int]]] = {
    "a damaged entry that can be read": lambda packed: {"d": packed, "c": crc32(packed) ^ 1},
    "an entry that cannot be read": lambda packed: {"d": packed[:-1]},
    "an entry without the name": lambda packed: {"d": b"nonsense"},
}


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


def test_nothing_is_told_to_be_erased_that_the_store_has_not_learned_any_more(
    client: Client, api: Api, redis_url: str
) -> None:
    keys = PartitionKeys(api.settings.namespace, 0)
    with learning(api.settings, redis_url):
        api.rate("ada", "x", 5)
        deleted = api("DELETE", "/v1/users/ada").json()
        # without a request: the loop of this application runs during requests only
        wait_until(lambda: client.hget(keys.state, "watermark") == b"2")
    # as if the store went back, and nobody has noticed it yet
    client.hset(keys.state, "watermark", 1)
    # that the deletion was accepted long ago says nothing
    receipt = NamespaceKeys(api.settings.namespace).erasure(deleted["erasure"])
    client.set(receipt, json.dumps(json.loads(client.get(receipt)) | {"accepted_ms": 0}))
    erasing, path = api.runtime.erasing, f"/v1/erasures/{deleted['erasure']}"
    api.run(erasing.refresh())
    assert api("GET", path).json()["erased"] is None
    client.hset(keys.state, "watermark", 2)

    def is_erased() -> bool:
        api.run(erasing.refresh())
        return api("GET", path).json()["erased"] is not None

    wait_until(is_erased)


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_deletion_that_cannot_be_learned_is_repeated_before_anything_is_erased(
    client: Client, api: Api, redis_url: str, damage: Callable[[bytes], dict[str, bytes | int]]
) -> None:
    settings, keys = api.settings, PartitionKeys(api.settings.namespace, 0)
    with learning(settings, redis_url):
        api.rate("bob", "x", 3)
        api.rate("ada", "x", 5)
        wait_until(lambda: client.zscore(keys.users, "ada") is not None)
    deleted = api("DELETE", "/v1/users/ada").json()
    [(name, fields)] = client.xrange(keys.log)
    client.delete(keys.log)
    client.xadd(keys.log, damage(fields[b"d"]), id=name)
    with learning(settings, redis_url):
        path = f"/v1/erasures/{deleted['erasure']}"
        wait_until(lambda: api("GET", path).json()["erased"])
    receipt = api("GET", path).json()
    assert (deleted["sequence"], receipt["sequence"]) == ("0:3", "0:4")
    assert client.zrange(keys.users, 0, -1) == [b"bob"]
    assert not client.exists(keys.history("ada"))
    assert api("GET", "/v1/users/bob/ratings").json()["items"]
    # the user's name goes from the letter; what cannot be read is left, and told
    told = {one["where"] for one in receipt["remains"]}
    letters = DeadLetters(client, keys).all()
    assert any(b"ada" in one.packed for one in letters) == ("dead_letters" in told)
