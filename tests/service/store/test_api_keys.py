"""API keys: the secret opens as long as the key is not revoked; the store holds its hash alone."""

import asyncio
from dataclasses import replace

import pytest

from service.errors import Conflict, NotFound
from service.store.api_keys import ApiKeys, KeyRing, create_key, ends_after, read_ring, revoke_key
from service.store.clock import now_ms
from service.store.keys import NamespaceKeys
from tests.stories import run


def test_a_new_namespace_has_no_keys(client, namespace):
    assert not read_ring(client, namespace)


def test_the_first_key_is_an_admin_key(client, namespace):
    for role in ("read", "write"):
        with pytest.raises(Conflict, match="the first key must have the role `admin`"):
            create_key(client, namespace, role, "shop")
    key, _ = create_key(client, namespace, "admin", "operator")
    create_key(client, namespace, "read", "shop")
    revoke_key(client, namespace, key.id)
    with pytest.raises(Conflict, match="no lasting admin key works"):
        create_key(client, namespace, "write", "shop")


def test_a_key_opens_until_its_end(client, namespace):
    create_key(client, namespace, "admin", "operator")
    key, secret = create_key(client, namespace, "read", "guest", ends_after(1.0))
    assert key.expires_ms is not None
    assert [key.works(key.expires_ms + late) for late in (-1, 0)] == [True, False]
    ring = read_ring(client, namespace)
    assert ring.authenticate(secret.encode()) == key
    ended = KeyRing({key.id: replace(key, expires_ms=now_ms())})
    assert ended.authenticate(secret.encode()) is None


def test_an_admin_key_with_an_end_does_not_count_as_the_last_one(client, namespace, redis_url):
    with pytest.raises(Conflict, match="no end"):
        create_key(client, namespace, "admin", "guest", ends_after(1.0))
    key, _ = create_key(client, namespace, "admin", "operator")
    create_key(client, namespace, "admin", "guest", ends_after(1.0))

    async def story(connection):
        with pytest.raises(Conflict, match="the last lasting admin key"):
            await ApiKeys(connection, namespace).revoke(key.id)

    run(redis_url, story)


def test_of_all_who_revoke_the_last_admin_keys_one_is_refused(client, redis_url, namespace):
    async def story(connection):
        apis = [ApiKeys(connection, namespace) for _ in range(2)]
        for _ in range(20):
            ids = [(await apis[0].create("admin", "one of two"))[0].id for _ in range(2)]
            revoked = [api.revoke(key_id) for api, key_id in zip(apis, ids, strict=True)]
            ended = await asyncio.gather(*revoked, return_exceptions=True)
            assert [type(one) for one in ended].count(Conflict) == 1, ended
            [left] = [one for one in (await apis[0].ring()).keys.values() if not one.revoked]
            # the command line may revoke the last one; the next two begin anew
            await asyncio.to_thread(revoke_key, client, namespace, left.id)

    run(redis_url, story)


def test_a_secret_gives_the_role_of_its_key(client, namespace):
    create_key(client, namespace, "admin", "operator")
    _, reads = create_key(client, namespace, "read", "shop")
    _, writes = create_key(client, namespace, "write", "import")
    ring = read_ring(client, namespace)
    assert ring.authenticate(reads.encode()).role == "read"
    assert ring.authenticate(writes.encode()).role == "write"


@pytest.mark.parametrize("change", [lambda s: s + "x", lambda s: s[:-1], lambda s: "xx" + s[2:]])
def test_another_secret_gives_none(client, namespace, change):
    _, secret = create_key(client, namespace, "admin", "shop")
    ring = read_ring(client, namespace)
    assert ring.authenticate(change(secret).encode()) is None


@pytest.mark.parametrize(
    "presented", [b"", b"hr", b"hr_", b"hr__", b"hr_unknown_secret", b"\xff_\xff"]
)
def test_anything_else_gives_none(client, namespace, presented):
    create_key(client, namespace, "admin", "shop")
    assert read_ring(client, namespace).authenticate(presented) is None


def test_the_secret_is_not_stored(client, namespace):
    _, secret = create_key(client, namespace, "admin", "shop")
    stored = b"".join(client.hvals(NamespaceKeys(namespace).api_keys))
    assert secret.rpartition("_")[2].encode() not in stored


def test_a_revoked_key_stays_known_and_opens_nothing(client, namespace):
    key, secret = create_key(client, namespace, "admin", "shop")
    revoked = revoke_key(client, namespace, key.id)
    assert revoked.revoked is not None
    assert revoke_key(client, namespace, key.id) == revoked, "once is enough"
    ring = read_ring(client, namespace)
    assert ring.authenticate(secret.encode()) is None
    assert ring, "the service stays closed"
    with pytest.raises(NotFound, match="no key with the id"):
        revoke_key(client, namespace, "unknown")


def test_the_api_and_the_command_line_see_the_same_keys(client, redis_url, namespace):
    operator, _ = create_key(client, namespace, "admin", "operator")

    async def story(connection):
        keys = ApiKeys(connection, namespace)
        key, secret = await keys.create("read", "Grüße/Shop")
        assert (await keys.ring()).authenticate(secret.encode()) == key
        return key, await keys.revoke(key.id)

    key, revoked = run(redis_url, story)
    assert read_ring(client, namespace).keys == {operator.id: operator, key.id: revoked}
    assert revoked == replace(key, revoked=revoked.revoked)
