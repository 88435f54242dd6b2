"""The api's reader of users: histories, rows and watermark of one moment, in one round trip."""

import asyncio
from collections.abc import Awaitable, Callable

import numpy as np
import pytest
import redis.asyncio

from core.online.layout import RowLayout
from service import configs
from service.errors import NotReady
from service.settings import Settings
from service.store.connection import AsyncClient, connect_async
from service.store.keys import PartitionKeys
from service.store.namespace import open_namespace
from service.store.profiles.history_record import sequences
from service.store.profiles.history_store import pack_trimmed
from service.store.profiles.reader import ATTEMPTS
from service.store.profiles.user_histories import UserHistories
from tests.histories import Record, store_histories

Story = Callable[[UserHistories, AsyncClient], Awaitable[None]]
TOLD = [Record("bob", 2), Record("ada", 0), Record("bob", 0)]


@pytest.fixture
def keys(namespace):
    return PartitionKeys(namespace, 0)


@pytest.fixture
def layout(client, namespace):
    settings = Settings(namespace=namespace)
    return RowLayout.of(configs.online_config(settings, open_namespace(client, settings)))


@pytest.fixture
def stored(client, namespace):
    """Store more records."""
    return lambda *told: store_histories(client, Settings(namespace=namespace), told)


@pytest.fixture
def told(redis_url, namespace, layout):
    """Run a story with a reader and a connection of its own."""

    def run(story: Story) -> None:
        async def main() -> None:
            async with connect_async(redis_url, role="test") as connection:
                await story(UserHistories(connection, namespace, 0, layout), connection)

        asyncio.run(main())

    return run


def items(answer):
    return answer.records["item"].tolist()


def row_of(layout, value):
    return np.full(layout.width, value, np.float32)


def rows_fit(client, keys, layout, generation=0):
    """Declare that the stored rows were made with this layout."""
    state = {"fingerprint": layout.fingerprint.hex(), "generation": generation}
    client.hset(keys.state, mapping=state)


def test_users_are_answered_in_their_order_and_an_unknown_one_is_empty(stored, told):
    stored(*TOLD)

    async def story(reader, connection):
        bob, nobody, ada, again = await reader.read(["bob", "nobody", "ada", "bob"])
        assert [items(one) for one in (bob, nobody, ada, again)] == [[2, 0], [], [0], [2, 0]]
        assert sequences(bob.records).tolist() == [1, 3]
        assert {one.watermark for one in (bob, nobody, ada)} == {3}
        assert nobody.row is None

    told(story)


def test_many_users_cost_one_round_trip(stored, told):
    stored(*TOLD)

    async def story(reader, connection):
        await connection.config_resetstat()
        await reader.read([f"u{n}" for n in range(50)])
        calls = {name: of["calls"] for name, of in (await connection.info("commandstats")).items()}
        assert (calls["cmdstat_mget"], calls["cmdstat_hmget"]) == (1, 1)

    told(story)


def test_trimmed_items_stay_with_their_user(client, keys, stored, told):
    stored(*TOLD)
    client.set(keys.trimmed("ada"), pack_trimmed(np.array([8, 1])))

    async def story(reader, connection):
        ada, bob = await reader.read(["ada", "bob"])
        assert (ada.trimmed.tolist(), bob.trimmed.tolist()) == ([8, 1], [])

    told(story)


def test_deletions_are_remembered_until_somebody_says_that_there_are_more(
    client, keys, stored, told
):
    stored(*TOLD)

    async def story(reader, connection):
        assert items((await reader.read(["bob"]))[0]) == [2, 0]
        client.hset(keys.deleted_items, "2", 1)
        assert items((await reader.read(["bob"]))[0]) == [2, 0]
        reader.forget_deletions()
        assert items((await reader.read(["bob"]))[0]) == [0]
        stored(Record("bob", 2))
        assert items((await reader.read(["bob"]))[0]) == [0, 2]

    told(story)


def test_deletions_that_come_during_a_read_are_read_again(client, keys, stored, told):
    stored(*TOLD)

    async def story(reader, connection):
        reading = asyncio.ensure_future(reader.read(["bob"]))
        await asyncio.sleep(0)
        reader.forget_deletions()
        await reading
        client.hset(keys.deleted_items, "2", 1)
        assert items((await reader.read(["bob"]))[0]) == [0]

    told(story)


def test_a_row_comes_with_its_user_if_it_fits_the_experts(client, keys, layout, stored, told):
    stored(*TOLD)
    client.set(keys.user_row(0, "ada"), row_of(layout, 2.5).tobytes())
    client.set(keys.user_row(0, "bob"), b"of another width")

    async def story(reader, connection):
        ada, bob = await reader.read(["ada", "bob"])
        assert (ada.row, bob.row) == (None, None)  # nobody said whose rows these are
        rows_fit(client, keys, layout)
        ada, bob = await reader.read(["ada", "bob"])
        assert np.array_equal(ada.row, row_of(layout, 2.5))
        assert bob.row is None
        client.hset(keys.state, "fingerprint", "00" * 16)
        assert (await reader.read(["ada"]))[0].row is None

    told(story)


def test_rows_of_two_generations_never_mix(client, keys, layout, stored, told):
    stored(*TOLD)
    for generation in (0, 1):
        client.set(keys.user_row(generation, "ada"), row_of(layout, generation + 1).tobytes())
    rows_fit(client, keys, layout)

    async def story(reader, connection):
        assert (await reader.read(["ada"]))[0].row[0] == 1.0
        rows_fit(client, keys, layout, generation=1)
        assert (await reader.read(["ada"]))[0].row[0] == 2.0

    told(story)


class Restless(redis.asyncio.Redis):
    """A connection to a store in which something happens before each read."""

    happens: Callable[[], object]

    def pipeline(self, transaction=True, shard_hint=None):
        self.happens()
        return super().pipeline(transaction, shard_hint)


def test_a_rebuild_before_each_read_is_not_ready_until_they_end(
    client, keys, namespace, layout, stored, redis_url
):
    stored(*TOLD)

    async def story():
        async with Restless.from_url(redis_url) as connection:
            connection.happens = lambda: client.hincrby(keys.state, "generation", 1)
            reader = UserHistories(connection, namespace, 0, layout)
            with pytest.raises(NotReady, match="being rebuilt"):
                await reader.read(["ada"])
            assert int(client.hget(keys.state, "generation")) == ATTEMPTS
            connection.happens = lambda: None
            assert items((await reader.read(["ada"]))[0]) == [0]

    asyncio.run(story())


def test_a_sample_has_each_user_once(stored, told):
    stored(*(Record(f"u{n}", 0) for n in range(9)))

    async def story(reader, connection):
        everybody = {f"u{n}" for n in range(9)}
        assert set(await reader.sample(100)) == everybody
        some = await reader.sample(4)
        assert len(some) == len(set(some)) == 4
        assert set(some) < everybody

    told(story)
