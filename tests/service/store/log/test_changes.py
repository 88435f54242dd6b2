"""Following the change feed: from its middle, after its loss, to many at once."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import numpy as np
import redis.asyncio
from structlog.testing import capture_logs

from service.store.connection import connect_async
from service.store.identity.survey import survey
from service.store.keys import PartitionKeys
from service.store.log.changes import ChangeFollower
from service.store.log.codec import AWAITED_ANSWER, DUPLICATE, LEARNED
from tests.server import DEADLINE_S


class Heard:
    """A listener that records the changes that it hears, None for all users."""

    def __init__(self) -> None:
        self.users: list[list[str] | None] = []

    def changed(self, partition: int, users: Iterable[str]) -> None:
        self.users.append(list(users))

    def lost(self, partition: int) -> None:
        self.users.append(None)


@asynccontextmanager
async def following(
    url: str, namespace: str, *listeners: Heard
) -> AsyncIterator[tuple[ChangeFollower, redis.asyncio.Redis]]:
    async with connect_async(url, role="test") as client:
        follower = ChangeFollower(client, namespace, 1)
        follower.start(*listeners)
        try:
            async with asyncio.timeout(DEADLINE_S):
                yield follower, client
        finally:
            await follower.close()


@asynccontextmanager
async def started(
    url: str, namespace: str, heard: Heard
) -> AsyncIterator[tuple[ChangeFollower, redis.asyncio.Redis]]:
    """Follow a partition that has learned two events before."""
    async with connect_async(url, role="test") as client:
        await client.hset(PartitionKeys(namespace, 0).state, "watermark", 2)  # type: ignore[misc]
    async with following(url, namespace, heard) as (follower, client):
        await follower.reached(0, 2)
        yield follower, client


async def commit(
    client: redis.asyncio.Redis, keys: PartitionKeys, watermark: int, answers: bytes = b"-"
) -> None:
    await client.hset(keys.state, "watermark", watermark)  # type: ignore[misc]
    await client.xadd(
        keys.changes, {"p": answers} if answers != b"-" else {"f": 0}, f"{watermark}-0"
    )


def test_all_waiting_requests_are_woken(redis_url: str, namespace: str) -> None:
    keys = PartitionKeys(namespace, 0)

    async def story() -> None:
        async with following(redis_url, namespace) as (follower, client):
            waiting = [asyncio.ensure_future(follower.reached(0, n)) for n in (1, 5, 5, 7)]
            await commit(client, keys, 5)
            await asyncio.gather(*waiting[:3])
            assert not waiting[3].done()
            await commit(client, keys, 9)
            await waiting[3]
            await follower.reached(0, 9)
            assert follower.watermark(0) == 9

    asyncio.run(story())


def test_events_learned_before_need_no_feed(redis_url: str, namespace: str) -> None:
    keys = PartitionKeys(namespace, 0)

    async def story() -> None:
        async with connect_async(redis_url, role="test") as client:
            await client.hset(keys.state, "watermark", 41)  # type: ignore[misc]
        async with following(redis_url, namespace) as (follower, client):
            await follower.reached(0, 41)
            await client.hset(keys.state, "watermark", 42)  # type: ignore[misc]
            # the feed never announces it: the state is read again when the feed is silent
            await follower.reached(0, 42)

    asyncio.run(story())


def test_what_was_kept_before_the_feed_is_followed_is_dropped(
    client: redis.Redis, redis_url: str, namespace: str
) -> None:
    now = survey(client, namespace, 1)

    async def story() -> None:
        heard = Heard()
        async with started(redis_url, namespace, heard) as (follower, asked):
            assert heard.users == [None]
            # the store was started anew, and an event is learned before the feed is read again
            follower.forget(now, went_back=False)
            await commit(asked, PartitionKeys(namespace, 0), 3)
            heard.users.clear()
            await follower.reached(0, 3)
            assert heard.users[0] is None

    asyncio.run(story())


def test_an_unexpected_failure_is_logged_and_the_feed_goes_on(
    redis_url: str, namespace: str
) -> None:
    keys = PartitionKeys(namespace, 0)

    async def story() -> None:
        async with connect_async(redis_url, role="test") as client:
            await client.hset(keys.state, "watermark", "nonsense")  # type: ignore[misc]
            with capture_logs() as logged:
                async with following(redis_url, namespace) as (follower, _):
                    async with asyncio.timeout(DEADLINE_S):
                        while not logged:  # noqa: ASYNC110 - a list says nothing when it grows
                            await asyncio.sleep(0.01)
                    await client.hset(keys.state, "watermark", 5)  # type: ignore[misc]
                    await follower.reached(0, 5)
            assert logged[0]["event"] == "change_feed_failed"

    asyncio.run(story())


def test_predictions_are_handed_to_those_who_wait(redis_url: str, namespace: str) -> None:
    keys = PartitionKeys(namespace, 0)
    records = np.array([(3, 4.5, 4, 5, LEARNED), (4, 0, 0, 0, DUPLICATE)], dtype=AWAITED_ANSWER)

    async def story() -> None:
        async with following(redis_url, namespace) as (follower, client):
            await commit(client, keys, 2)
            await follower.reached(0, 2)
            await commit(client, keys, 4, records.tobytes())
            await commit(client, keys, 5)
            await follower.reached(0, 5)
            assert follower.answers(0, [2, 3, 4]) == [None, (4.5, 4.0, 5.0), None]

    asyncio.run(story())


def test_a_second_entry_of_one_watermark_is_read_once(redis_url: str, namespace: str) -> None:
    """A rebuild announces its swap under a watermark that the feed has already."""
    keys = PartitionKeys(namespace, 0)

    async def story() -> None:
        async with following(redis_url, namespace) as (follower, client):
            await commit(client, keys, 5)
            await follower.reached(0, 5)
            await client.xadd(keys.changes, {"f": 5, "a": 1}, "5-1")
            before = (await client.info("commandstats"))["cmdstat_xread"]["calls"]
            for _ in range(100):
                await client.ping()
            await commit(client, keys, 6)
            await follower.reached(0, 6)
            after = (await client.info("commandstats"))["cmdstat_xread"]["calls"]
            assert after - before < 10

    asyncio.run(story())


def test_listeners_hear_who_changed_and_of_every_gap(redis_url: str, namespace: str) -> None:
    keys = PartitionKeys(namespace, 0)
    heard = Heard()

    async def story() -> None:
        async with started(redis_url, namespace, heard) as (follower, client):

            async def told(name: str, fields: dict[str, object]) -> list[list[str] | None]:
                watermark = int(name.partition("-")[0])
                heard.users.clear()
                await client.hset(keys.state, "watermark", watermark)  # type: ignore[misc]
                await client.xadd(keys.changes, {"e": 1, **fields}, name)  # type: ignore[dict-item]
                while not heard.users:  # noqa: ASYNC110 - a list says nothing when it grows
                    await asyncio.sleep(0.001)
                await follower.reached(0, watermark)
                return heard.users

            assert await told("3-0", {"f": 2, "u": "ada"}) == [None]  # the first epoch it hears of
            assert await told("4-0", {"f": 3, "u": "ada\nbob", "i": b"1234"}) == [["ada", "bob"]]
            assert await told("5-0", {"f": 4, "u": "", "i": b"1234"}) == [None]  # a deleted item
            assert await told("6-0", {"f": 5, "a": 1}) == [None]
            assert await told("6-1", {"f": 6, "a": 1}) == [None]  # a rebuild
            assert await told("9-0", {"f": 8, "u": "ada"}) == [None]  # an entry is missing
            assert await told("10-0", {"f": 9, "e": 2, "u": "ada"}) == [None]  # another learner
            assert await told("11-0", {"f": 10, "e": 2, "u": "ada"}) == [["ada"]]

    asyncio.run(story())


def test_listeners_are_told_that_the_feed_is_behind_the_state(
    redis_url: str, namespace: str
) -> None:
    keys = PartitionKeys(namespace, 0)
    heard = Heard()

    async def story() -> None:
        async with started(redis_url, namespace, heard) as (follower, client):
            heard.users.clear()
            await client.hset(keys.state, "watermark", 42)  # type: ignore[misc]
            await follower.reached(0, 42)
            assert heard.users == [None]

    asyncio.run(story())
