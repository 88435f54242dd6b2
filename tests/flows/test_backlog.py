"""A full log refuses events, and every event that it accepted is learned."""

import asyncio
import threading

import pytest

from service.errors import Backlogged
from service.learning.partition_loop import learn_partition
from service.settings import Settings
from service.store.connection import connect, connect_async
from service.store.log.codec import encode
from service.store.log.stream import LogWriter
from service.store.namespace import open_namespace
from tests.feed import Feed, some_ratings
from tests.server import wait_until

pytestmark = pytest.mark.flow


def test_a_full_log_refuses_and_loses_nothing(redis_url, namespace):
    settings = Settings(namespace=namespace, log_max_bytes=1 << 16)
    with connect(redis_url, role="test") as client:
        space = open_namespace(client, settings)
        feed = Feed(client, namespace)
        entries = [feed.entry(some_ratings(100, seed=seed)) for seed in range(60)]

        async def fill(first: int) -> int:
            """Append until the log is full; return the number of entries that it accepted."""
            async with connect_async(redis_url, role="test") as connection:
                log = LogWriter(connection, space, max_bytes=settings.log_max_bytes)
                for number, entry in enumerate(entries[first:]):
                    try:
                        await log.append(0, encode(entry), len(entry))
                    except Backlogged:
                        return number
            return len(entries) - first

        accepted = asyncio.run(fill(0))
        assert 0 < accepted < len(entries)
        stop = threading.Event()
        learner = threading.Thread(target=learn_partition, args=(settings, redis_url, 0, stop))
        learner.start()
        try:
            while accepted < len(entries):
                wait_until(feed.is_learned)
                accepted += asyncio.run(fill(accepted))
            wait_until(feed.is_learned)
        finally:
            stop.set()
            learner.join()
        assert feed.watermark == 6_000
        assert sum(client.strlen(feed.keys.history(f"u{n}")) for n in range(20)) == 24 * 6_000
        assert client.get(feed.keys.log_bytes) == b"0"
