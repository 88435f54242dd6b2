import asyncio

import pytest

from core.scale import Scale
from service.errors import Backlogged, StoreUnavailable
from service.store.connection import connect_async
from service.store.keys import PartitionKeys
from service.store.log.stream import LogEntry, LogReader, LogWriter
from service.store.namespace import Namespace


@pytest.fixture
def space(namespace):
    return Namespace(namespace, partitions=1, scale=Scale(), seed=0, created="")


@pytest.fixture
def appending(redis_url, space):
    """Run ``story(writer)`` against the server with an writer of its own."""

    def run(story, *, max_bytes=1 << 20, process_id=None):
        async def main():
            client = connect_async(redis_url, role="test")
            try:
                return await story(
                    LogWriter(client, space, max_bytes=max_bytes, process_id=process_id)
                )
            finally:
                await client.aclose()

        return asyncio.run(main())

    return run


def test_sequences_are_dense_and_the_stream_id_is_the_last_event(appending, client, space):
    async def story(writer):
        return [await writer.append(0, b"abc", 3), await writer.append(0, b"de", 2)]

    assert appending(story) == [3, 5]
    keys = PartitionKeys(space.name, 0)
    assert [name for name, _ in client.xrange(keys.log)] == [b"3-0", b"5-0"]
    assert int(client.get(keys.log_bytes)) == 5


def test_a_repeated_append_gets_the_first_answer(appending, client, space):
    async def once(writer):
        return await writer.append(0, b"abc", 3)

    assert appending(once, process_id="p") == appending(once, process_id="p") == 3
    assert client.xlen(PartitionKeys(space.name, 0).log) == 1


def test_a_counter_from_the_past_is_refused(appending, client, space):
    async def twice(writer):
        return [await writer.append(0, b"a", 1) for _ in range(2)]

    async def once(writer):
        await writer.append(0, b"a", 1)

    appending(twice, process_id="p")
    with pytest.raises(StoreUnavailable, match="overtaken"):
        appending(once, process_id="p")
    assert client.xlen(PartitionKeys(space.name, 0).log) == 2


def test_a_full_log_refuses_and_an_empty_one_takes_any_entry(appending):
    async def story(writer):
        first = await writer.append(0, b"x" * 500, 1)
        with pytest.raises(Backlogged):
            await writer.append(0, b"x", 1)
        return first

    assert appending(story, max_bytes=100) == 1


def test_an_append_without_a_server_fails_after_its_deadline(space):
    async def main():
        client = connect_async("unix:///nonexistent/socket", role="test")
        writer = LogWriter(client, space, max_bytes=1, retry_s=0.05)
        with pytest.raises(StoreUnavailable):
            await writer.append(0, b"a", 1)
        await client.aclose()

    asyncio.run(main())


def test_an_append_waits_out_a_restart_of_the_server(private_server, space):
    async def main():
        client = connect_async(private_server.url, role="test")
        writer = LogWriter(client, space, max_bytes=1 << 20)
        first = await writer.append(0, b"a", 1)
        private_server.kill()
        waiting = asyncio.create_task(writer.append(0, b"b", 1))
        await asyncio.to_thread(private_server.start)
        second = await waiting
        await client.aclose()
        return [first, second]

    assert asyncio.run(main()) == [1, 2]


def test_the_reader_returns_what_follows_the_watermark(appending, client, space):
    async def story(writer):
        for packed in (b"a", b"bb", b"ccc"):
            await writer.append(0, packed, len(packed))

    reader = LogReader(client, PartitionKeys(space.name, 0))
    assert reader.read_after(0, block_ms=0, max_bytes=1000) == []
    appending(story)
    read = reader.read_after(0, block_ms=0, max_bytes=1000)
    assert read == [LogEntry(1, b"a"), LogEntry(3, b"bb"), LogEntry(6, b"ccc")]
    # inside an entry: the entry is read again, and its sequences tell which events are new
    assert reader.read_after(2, block_ms=0, max_bytes=2) == [LogEntry(3, b"bb")]
    assert reader.read_after(6, block_ms=1, max_bytes=1000) == []
