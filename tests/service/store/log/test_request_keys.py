"""The keys of requests: remembered, the latest ones only, in a bounded place."""

import asyncio
from hashlib import blake2b

import msgspec
import pytest
import redis

from service.errors import Conflict, StoreUnavailable
from service.store.connection import connect_async
from service.store.keys import NamespaceKeys
from service.store.log.request_keys import KEYS_A_BUCKET, RequestKeys

US, THEM = b"us..", b"them"


def test_the_latest_keys_are_known_and_take_a_bounded_place(
    redis_url: str, client: redis.Redis, namespace: str
) -> None:

    async def fill() -> None:
        async with connect_async(redis_url, role="test") as connection:
            keys = RequestKeys(connection, namespace, buckets=1)
            for n in range(100):
                await keys.check(f"key {n}", US, {n: "row"})
            for n in range(100 - KEYS_A_BUCKET, 100):
                await keys.check(f"key {n}", US, {n: "row", n + 1: "another"})
                with pytest.raises(Conflict) as refused:
                    await keys.check(f"key {n}", US, {n: "another row"})
                assert refused.value.code == "idempotency_key_reused"
            # forgotten, and so new
            await keys.check("key 0", US, {0: "another row"})

    asyncio.run(fill())
    [bucket] = client.hvals(NamespaceKeys(namespace).request_keys)
    assert len(bucket) == 16 * KEYS_A_BUCKET


def test_nobody_displaces_the_keys_of_others_who_send_less(redis_url: str, namespace: str) -> None:

    async def fill() -> None:
        async with connect_async(redis_url, role="test") as connection:
            keys = RequestKeys(connection, namespace, buckets=1)
            for n in range(KEYS_A_BUCKET // 2):
                await keys.check(f"ours {n}", US, {n: "row"})
            for n in range(10 * KEYS_A_BUCKET):
                await keys.check(f"theirs {n}", THEM, {n: "row"})
            for n in range(KEYS_A_BUCKET // 2):
                # a key is the same whoever sends it
                for who in (US, THEM):
                    with pytest.raises(Conflict):
                        await keys.check(f"ours {n}", who, {n: "another row"})
            # the oldest of those who have most is forgotten, and so new
            await keys.check("theirs 0", THEM, {0: "another row"})
            with pytest.raises(Conflict):
                await keys.check(f"theirs {10 * KEYS_A_BUCKET - 1}", US, {159: "another row"})

    asyncio.run(fill())


def test_keys_from_before_there_were_producers_are_known(
    redis_url: str, client: redis.Redis, namespace: str
) -> None:
    # what the version before wrote for `key` with the row 0 "row": 6 bytes of tag, index, digest
    named = blake2b(b"key", digest_size=8).digest()
    row = bytes(4) + blake2b(msgspec.msgpack.encode("row"), digest_size=6).digest()
    bucket = int.from_bytes(named[:2])
    client.hset(NamespaceKeys(namespace).request_keys, str(bucket), named[2:] + row)

    async def ask() -> None:
        async with connect_async(redis_url, role="test") as connection:
            keys = RequestKeys(connection, namespace)
            await keys.check("key", US, {0: "row"})
            with pytest.raises(Conflict):
                await keys.check("key", US, {0: "another row"})

    asyncio.run(ask())


def test_who_asks_together_is_told_each_their_own(redis_url: str, namespace: str) -> None:
    async def ask() -> None:
        async with connect_async(redis_url, role="test") as connection:
            keys = RequestKeys(connection, namespace)
            rows = [(n % 50, n // 50) for n in range(100)]
            told = await asyncio.gather(
                *(keys.check(f"key {key}", US, {0: row}) for key, row in rows),
                return_exceptions=True,
            )
            assert told[:50] == [None] * 50
            assert {type(one) for one in told[50:]} == {Conflict}

    asyncio.run(ask())


def test_who_asks_a_store_that_is_away_is_told(namespace: str) -> None:
    async def ask() -> None:
        async with connect_async("unix:///nowhere", role="test") as connection:
            keys = RequestKeys(connection, namespace)
            for _ in range(2):
                told = await asyncio.gather(
                    *(keys.check(f"key {n}", US, {0: n}) for n in range(3)), return_exceptions=True
                )
                assert {type(one) for one in told} == {StoreUnavailable}

    asyncio.run(ask())
