"""The keys of requests: remembered, the latest ones only, in a bounded place."""

import asyncio

import pytest
import redis

from service.errors import Conflict
from service.store.connection import connect_async
from service.store.keys import NamespaceKeys
from service.store.log.request_keys import KEYS_A_BUCKET, RequestKeys


def test_the_latest_keys_are_known_and_take_a_bounded_place(
    redis_url: str, client: redis.Redis, namespace: str
) -> None:

    async def fill() -> None:
        async with connect_async(redis_url, role="test") as connection:
            keys = RequestKeys(connection, namespace, buckets=1)
            for n in range(100):
                await keys.check(f"key {n}", {n: "row"})
            for n in range(100 - KEYS_A_BUCKET, 100):
                await keys.check(f"key {n}", {n: "row", n + 1: "another"})
                with pytest.raises(Conflict) as refused:
                    await keys.check(f"key {n}", {n: "another row"})
                assert refused.value.code == "idempotency_key_reused"
            # forgotten, and so new
            await keys.check("key 0", {0: "another row"})

    asyncio.run(fill())
    [bucket] = client.hvals(NamespaceKeys(namespace).request_keys)
    assert len(bucket) == 16 * KEYS_A_BUCKET
