import asyncio

import numpy as np
import pytest

from core.online.model import OnlineModel
from service.configs import online_config
from service.errors import NotReady
from service.learning.learner import Learner
from service.learning.rebuild import rebuild
from service.settings import KINDS, Settings
from service.store.connection import connect_async
from service.store.keys import PartitionKeys
from service.store.log.codec import DELETE_ITEM
from service.store.namespace import open_namespace
from service.store.profiles.reader import MEMORY_KEPT_S, ProfileReader
from tests.feed import Event, some_ratings

VIEW = KINDS["view"].code


@pytest.fixture
def settings(namespace):
    return Settings(namespace=namespace)


@pytest.fixture
def learner(client, settings):
    learner = Learner(settings, client, open_namespace(client, settings), 0)
    yield learner
    learner.close()


@pytest.fixture
def reading(client, redis_url, settings):
    """Run ``story(reader)`` with a reader of its own."""

    def run(story, settings=settings, **more):
        async def main():
            namespace = open_namespace(client, Settings(namespace=settings.namespace))
            async with connect_async(redis_url, role="test") as connection:
                model = OnlineModel(online_config(settings, namespace))
                return await story(
                    ProfileReader(connection, namespace, model.layout, start=model.arrays(), **more)
                )

        return asyncio.run(main())

    return run


def test_rows_and_state_are_those_of_the_learner(learner, feed, reading):
    feed.append(some_ratings(500))
    learner.drain()
    numbers = [feed.numbers["i3"], None, feed.numbers["i5"], 10_000]

    async def story(reader):
        return await reader.rows("u1", numbers)

    answer = reading(story)
    stored = feed.online_state()
    assert answer.watermark == 500
    assert answer.user_row.tobytes() == stored[b"user:u1"]
    first, unknown, second, never_rated = answer.item_rows
    assert (unknown, never_rated) == (None, None)
    assert first.tobytes() == stored[f"item:{numbers[0]}".encode()]
    assert second.tobytes() == stored[f"item:{numbers[2]}".encode()]
    for name, array in learner.model.arrays().items():
        assert np.array_equal(answer.arrays[name], array), name


def test_users_and_items_without_ratings_have_no_row(learner, reading):
    async def story(reader):
        return await reader.rows("nobody", [None])

    answer = reading(story)
    assert (answer.user_row, answer.item_rows, answer.watermark) == (None, [None], 0)
    for name, array in learner.model.arrays().items():
        assert np.array_equal(answer.arrays[name], array), name


def test_a_reader_follows_the_learner_and_a_rebuild(learner, feed, reading, redis_url, settings):
    async def story(reader):
        seen = []
        for _ in range(3):
            feed.append(some_ratings(50, seed=len(seen)))
            await asyncio.to_thread(learner.drain)
            seen.append((await reader.rows("u1", [0])).watermark)
        row = (await reader.rows("u1", [0])).user_row
        await asyncio.to_thread(rebuild, settings, redis_url)
        again = await reader.rows("u1", [0])
        assert again.user_row.tobytes() == row.tobytes()
        return [*seen, again.watermark]

    assert reading(story) == [50, 100, 150, 150]


def test_rows_of_other_experts_are_not_served(learner, feed, reading, settings):
    feed.append(some_ratings(10))
    learner.drain()

    async def story(reader):
        await reader.rows("u1", [0])

    with pytest.raises(NotReady, match="another set of experts"):
        reading(story, settings.model_copy(update={"aggregator": "hedge"}))


def test_a_history_leaves_out_deleted_items(learner, feed, reading):
    feed.append([Event("ann", "a", 5), Event("ann", "b", 0, VIEW), Event("ann", "c", 2)])
    feed.append([Event("ann", "a", 0, DELETE_ITEM), Event("ann", "c", 1)])
    learner.drain()

    async def story(reader):
        return await reader.history("ann"), await reader.history("nobody")

    known, unknown = reading(story)
    assert [(int(r["item"]), float(r["value"]), int(r["kind"])) for r in known] == [
        (1, 0.0, VIEW),
        (2, 2.0, 0),
        (2, 1.0, 0),
    ]
    assert unknown.size == 0


def test_users_are_listed_in_the_order_of_their_bytes(learner, feed, reading):
    feed.append([Event(user, "a", 5) for user in ("é", "b", "a", "aa", "[x", "(y")])
    learner.drain()

    async def story(reader):
        first = await reader.users(0, None, 4)
        rest = await reader.users(0, first[-1], 4)
        return first, rest, await reader.known("[x"), await reader.known("x")

    assert reading(story) == (["(y", "[x", "a", "aa"], ["b", "é"], True, False)


def test_reports_are_read_as_they_were_written(learner, feed, reading):
    for first in range(0, 3_000, 500):
        feed.append(some_ratings(500, seed=first))
        learner.drain()

    async def story(reader):
        return (
            await reader.state(0),
            await reader.expert_history(0, 2),
            await reader.memory_by_family(0),
        )

    state, points, memory = reading(story)
    assert (state.watermark, state.learned, state.epoch) == (3_000, 3_000, 1)
    assert [point["sequence"] for point in points] == [2_000, 3_000]
    assert memory["histories"] >= 3_000 * 24
    assert all(memory[family] > 0 for family in ("user_rows", "item_rows", "online", "changes"))
    assert memory["impressions"] == 0


def test_the_estimate_of_memory_is_made_once_for_all_who_ask(reading, client, namespace):
    dead, seconds = PartitionKeys(namespace, 0).dead, [0.0]

    async def story(reader):
        first = await reader.memory_by_family(0)
        client.set(dead, "x" * 1_000)
        again = await reader.memory_by_family(0)
        seconds[0] += MEMORY_KEPT_S
        return first, again, await reader.memory_by_family(0)

    first, again, later = reading(story, clock=lambda: seconds[0])
    assert first["dead_letters"] == again["dead_letters"] == 0
    assert later["dead_letters"] > 1_000


def test_a_partition_that_was_never_learned_is_all_zero(reading):
    async def story(reader):
        return await reader.state(0), await reader.memory_by_family(0)

    state, memory = reading(story)
    assert (state.epoch, state.watermark) == (0, 0)
    assert set(memory.values()) == {0}
