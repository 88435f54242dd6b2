"""The user cache of an api process: fresh, bounded, read in batches."""

import asyncio
import tracemalloc
from collections import OrderedDict
from collections.abc import Awaitable, Callable

import numpy as np

from core.batch.preferences import Preferences
from core.meaning import RATING
from core.online.layout import RowLayout
from service import configs
from service.ranking.asker import NOBODY, Computed
from service.ranking.pool import HEAD, Head
from service.ranking.strategies import mixture_at
from service.serving.user_state import OF_EACH, PLACES, UserState
from service.serving.users import Users
from service.settings import Settings
from service.store.connection import AsyncClient, connect, connect_async
from service.store.keys import PartitionKeys
from service.store.namespace import open_namespace
from service.store.profiles.history_record import records
from tests.server import DEADLINE_S

Story = Callable[[Users, AsyncClient, PartitionKeys], Awaitable[None]]


def run(redis_url: str, name: str, story: Story, most_bytes: int = 1 << 20) -> None:
    settings = Settings(namespace=name)
    with connect(redis_url, role="test") as client:
        namespace = open_namespace(client, settings)

    async def told() -> None:
        async with connect_async(redis_url, role="test") as client:
            meanings = configs.meanings(settings, namespace)
            users = Users(
                client,
                namespace,
                meanings,
                RowLayout.of(configs.online_config(settings, namespace)),
                most_bytes,
            )
            async with asyncio.timeout(DEADLINE_S):
                await story(users, client, PartitionKeys(name, 0))

    asyncio.run(told())


async def rate(
    client: AsyncClient, keys: PartitionKeys, user: str, ratings: dict[int, float], watermark: int
) -> None:
    n = len(ratings)
    sequence = np.arange(watermark - n + 1, watermark + 1, dtype=np.int64)
    packed = records(
        np.array(list(ratings)),
        np.array(list(ratings.values()), np.float32),
        np.zeros(n, np.int64),
        sequence,
        np.full(n, RATING, np.uint8),
    )
    await client.append(keys.history(user), packed.tobytes())  # type: ignore[misc]
    await client.hset(keys.state, "watermark", watermark)  # type: ignore[misc]


def items(known: UserState) -> list[int]:
    return known.preferences.item_ix.tolist()


def test_a_user_is_kept_until_the_feed_names_it(redis_url: str, namespace: str) -> None:
    async def story(users: Users, client: AsyncClient, keys: PartitionKeys) -> None:
        await rate(client, keys, "ada", {7: 5.0, 3: 1.0, 9: 3.0}, 3)
        known = await users.get("ada")
        assert (items(known), known.watermark, known.newest) == ([3, 7], 3, 3)
        assert known.preferences.seen.tolist() == [3, 7, 9]
        await rate(client, keys, "ada", {1: 4.0}, 4)
        assert await users.get("ada") is known
        users.changed(0, ["bob"])
        assert await users.get("ada") is known
        users.changed(0, ["bob", "ada"])
        assert items(await users.get("ada")) == [1, 3, 7]
        await rate(client, keys, "ada", {2: 4.0}, 5)
        users.lost(0)
        assert items(await users.get("ada")) == [1, 2, 3, 7]

    run(redis_url, namespace, story)


def test_trimmed_items_stay_seen_and_deleted_ones_are_gone(redis_url: str, namespace: str) -> None:
    async def story(users: Users, client: AsyncClient, keys: PartitionKeys) -> None:
        await rate(client, keys, "ada", {7: 5.0, 3: 5.0}, 2)
        await client.set(keys.trimmed("ada"), np.array([8, 1], "<u4").tobytes())
        known = await users.get("ada")
        assert known.preferences.seen.tolist() == [1, 3, 7, 8]
        await client.hset(keys.deleted_items, "3", 2)  # type: ignore[misc]
        users.lost(0)
        assert items(await users.get("ada")) == [7]

    run(redis_url, namespace, story)


def test_a_change_during_a_read_leaves_nothing_stale(redis_url: str, namespace: str) -> None:
    async def story(users: Users, client: AsyncClient, keys: PartitionKeys) -> None:
        for change in (lambda: users.changed(0, ["ada"]), lambda: users.lost(0)):
            users.lost(0)
            meanings = asyncio.ensure_future(users.get("ada"))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            change()
            known = await meanings
            assert await users.get("ada") is not known

    run(redis_url, namespace, story)


def test_simultaneous_reads_share_a_round_trip(redis_url: str, namespace: str) -> None:
    async def story(users: Users, client: AsyncClient, keys: PartitionKeys) -> None:
        await rate(client, keys, "u1", {7: 5.0}, 1)
        names = [f"u{n % 100}" for n in range(150)]
        await client.config_resetstat()
        found = await asyncio.gather(*map(users.get, names))
        assert (await client.info("commandstats"))["cmdstat_mget"]["calls"] == 2
        assert [items(known) for known in found[:3]] == [[], [7], []]
        assert found[100] is found[0]

    run(redis_url, namespace, story)


def test_a_user_is_answered_as_of_an_earlier_event(redis_url: str, namespace: str) -> None:
    async def story(users: Users, client: AsyncClient, keys: PartitionKeys) -> None:
        await rate(client, keys, "ada", {7: 5.0, 3: 5.0}, 2)
        await rate(client, keys, "ada", {9: 5.0}, 3)
        now = await users.get("ada")
        assert await users.as_of("ada", 3) is now
        assert items(await users.as_of("ada", 2)) == [3, 7]
        assert items(await users.as_of("ada", 0)) == []

    run(redis_url, namespace, story)


def test_memory_is_bounded(redis_url: str, namespace: str) -> None:
    async def story(users: Users, client: AsyncClient, keys: PartitionKeys) -> None:
        made = Computed("fbgd", "v", vector=np.zeros(500, np.float32))
        first = await users.get("u0")
        for n in range(1, 4):
            users.remember(f"u{n}", await users.get(f"u{n}"), [made])
        users.remember("u0", first, [made])
        assert await users.get("u3") is not None
        assert await users.get("u0") is not first

    run(redis_url, namespace, story, most_bytes=8_000)


def test_cached_results_are_dropped_with_their_history(redis_url: str, namespace: str) -> None:
    async def story(users: Users, client: AsyncClient, keys: PartitionKeys) -> None:
        await rate(client, keys, "ada", {7: 5.0}, 1)
        known = await users.get("ada")
        head = Head("v", known.preferences.item_ix, known.preferences.weight, whole=True)
        before = known.nbytes
        users.remember("ada", known, [Computed("fbgd", "v", head=head)])
        assert (await users.get("ada")).heads == {"fbgd": head}
        assert known.nbytes == before + 8 + OF_EACH
        users.changed(0, ["ada"])
        assert (await users.get("ada")).heads == {}

    run(redis_url, namespace, story)


def test_of_heads_for_contexts_the_latest_are_kept() -> None:
    items, scores = np.zeros(3, np.int32), np.zeros(3, np.float32)
    known = UserState(NOBODY.preferences, 0, 0)
    for name in ("mixture", "fbgd", *(mixture_at(f"{n}") for n in (1, 2, 3, 1, 4, 5))):
        known.keep_head(name, Head("v", items, scores, whole=True))
    latest = [mixture_at(f"{n}") for n in (3, 1, 4, 5)]
    assert len(latest) == PLACES
    assert list(known.heads) == ["mixture", "fbgd", *latest]


def test_the_counted_size_of_a_user_is_the_memory_it_takes() -> None:
    def known(n: int) -> UserState:
        own, ones = np.arange(n, dtype=np.int32), np.ones(n, np.float32)
        row = np.frombuffer(bytes([n]) * 400, np.float32)
        found = UserState(Preferences(own, ones, ones.copy(), own.copy()), n, n, row=row)
        found.vectors.update({("fbgd", name): np.ones(64, np.float32) for name in ("v1", "v2")})
        for strategy in ("fbgd", "ocmf", "online"):
            items, scores = np.zeros(HEAD, np.int32), np.zeros(HEAD, np.float32)
            found.heads[strategy] = Head("v", items, scores, whole=False)
        return found

    tracemalloc.start()
    try:
        entries = OrderedDict((f"user-{n}", known(n % 100)) for n in range(500))
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    counted = sum(one.nbytes for one in entries.values())
    assert 0.85 * taken < counted < 1.15 * taken


def test_nothing_is_kept_when_the_bound_is_zero(redis_url: str, namespace: str) -> None:
    async def story(users: Users, client: AsyncClient, keys: PartitionKeys) -> None:
        assert await users.get("ada") is not await users.get("ada")

    run(redis_url, namespace, story, most_bytes=0)
