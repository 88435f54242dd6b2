"""Item numbers: dense, given once, the same for all processes."""

import asyncio

import pytest
import redis

from service.store.catalogue.numbers import ItemNumbers, TooManyItems, item_ids
from service.store.connection import connect_async


def test_everybody_gets_the_same_dense_numbers(redis_url: str, namespace: str) -> None:
    async def give() -> tuple[list[list[int]], list[int | None], list[str]]:
        async with connect_async(redis_url, role="test") as client:
            processes = [ItemNumbers(client, namespace, 10_000) for _ in range(4)]
            ids = [f"i{i}" for i in range(1_200)]
            orders = [ids, ids[::-1], ids[::3] + ids, ids + ids]
            given = [own.numbers(order) for own, order in zip(processes, orders, strict=True)]
            numbers = await asyncio.gather(*given)
            fresh = ItemNumbers(client, namespace, 10_000)
            looked_up = await fresh.lookup([*ids, "never"])
            names = await ItemNumbers(client, namespace, 10_000).ids(numbers[0])
            assert await fresh.count() == 1_200
            assert await fresh.page(1_190, 100) == await fresh.ids(range(1_190, 1_200))
        assert names == ids
        by_order = [
            dict(zip(order, own, strict=True)) for order, own in zip(orders, numbers, strict=True)
        ]
        assert all(own == by_order[0] for own in by_order)
        return numbers, looked_up, names

    numbers, looked_up, names = asyncio.run(give())
    assert sorted(numbers[0]) == list(range(1_200))
    assert looked_up == [*numbers[0], None]
    with redis.Redis.from_url(redis_url) as client:
        stored = item_ids(client, namespace, 0, 1_199)
        assert [stored[number] for number in numbers[0]] == names
        assert item_ids(client, namespace, 1_198, 5_000) == stored[1_198:]


def test_beyond_the_bound_old_items_keep_their_numbers(redis_url: str, namespace: str) -> None:
    async def give() -> None:
        async with connect_async(redis_url, role="test") as client:
            own = ItemNumbers(client, namespace, 2)
            assert await own.give(["a", "b", "c"]) == {"a": 0, "b": 1}
            assert await own.numbers(["b", "a"]) == [1, 0]
            with pytest.raises(TooManyItems, match="HEDGEROW_MAX_ITEMS"):
                await own.numbers(["a", "c"])

    asyncio.run(give())


def test_a_full_cache_starts_anew_and_answers_stay_right(redis_url: str, namespace: str) -> None:
    async def give() -> None:
        async with connect_async(redis_url, role="test") as client:
            own = ItemNumbers(client, namespace, 10_000, max_cached=100)
            ids = [f"i{i}" for i in range(1_500)]
            assert await own.numbers(ids) == list(range(1_500))
            assert await own.ids(range(1_500)) == ids
            assert len(own.known) <= 500

    asyncio.run(give())
