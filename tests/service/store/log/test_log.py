import asyncio

import pytest

from core.scale import Scale
from service.errors import Backlogged, StoreUnavailable
from service.store.connection import connect_async
from service.store.identity.known import Basis
from service.store.keys import PartitionKeys
from service.store.log.stream import LogEntry, LogReader, LogWriter
from service.store.namespace import Namespace

BARE = bytes(24)
"""The shortest entry: a header that says that nothing follows."""


@pytest.fixture
def space(namespace):
    return Namespace(namespace, partitions=1, scale=Scale(), seed=0, created="")


@pytest.fixture
def appending(redis_url, space):
    """Run ``story(writer)`` against the server with an writer of its own."""

    def run(story, *, max_bytes=1 << 20, **options):
        async def main():
            client = connect_async(redis_url, role="test")
            try:
                return await story(LogWriter(client, space, max_bytes=max_bytes, **options))
            finally:
                await client.aclose()

        return asyncio.run(main())

    return run


def test_sequences_are_dense_and_the_stream_id_is_the_last_event(appending, client, space):
    async def story(writer):
        return [await writer.append(0, BARE, 3), await writer.append(0, BARE + b"x", 2)]

    assert [placed.last for placed in appending(story)] == [3, 5]
    keys = PartitionKeys(space.name, 0)
    assert [name for name, _ in client.xrange(keys.log)] == [b"3-0", b"5-0"]
    assert int(client.get(keys.log_bytes)) == 2 * len(BARE) + 1


def test_a_repeated_append_gets_the_first_answer(appending, client, space):
    async def once(writer):
        return await writer.append(0, BARE, 3)

    assert appending(once, process_id="p") == appending(once, process_id="p") == (3, [])
    assert client.xlen(PartitionKeys(space.name, 0).log) == 1


def test_a_counter_from_the_past_is_refused(appending, client, space):
    async def twice(writer):
        return [await writer.append(0, BARE, 1) for _ in range(2)]

    async def once(writer):
        await writer.append(0, BARE, 1)

    appending(twice, process_id="p")
    with pytest.raises(StoreUnavailable, match="overtaken"):
        appending(once, process_id="p")
    assert client.xlen(PartitionKeys(space.name, 0).log) == 2


def test_a_full_log_refuses_and_an_empty_one_takes_any_entry(appending):
    async def story(writer):
        first = await writer.append(0, BARE * 20, 1)
        with pytest.raises(Backlogged):
            await writer.append(0, BARE, 1)
        return first

    assert appending(story, max_bytes=100).last == 1


def test_an_append_without_a_server_fails_after_its_deadline(space):
    async def main():
        client = connect_async("unix:///nonexistent/socket", role="test")
        writer = LogWriter(client, space, max_bytes=1, retry_s=0.05)
        with pytest.raises(StoreUnavailable):
            await writer.append(0, BARE, 1)
        await client.aclose()

    asyncio.run(main())


def test_an_append_waits_out_a_restart_of_the_server(private_server, space):
    async def main():
        client = connect_async(private_server.url, role="test")
        writer = LogWriter(client, space, max_bytes=1 << 20)
        first = await writer.append(0, BARE, 1)
        private_server.kill()
        waiting = asyncio.create_task(writer.append(0, BARE, 1))
        await asyncio.to_thread(private_server.start)
        second = await waiting
        await client.aclose()
        return [first.last, second.last]

    assert asyncio.run(main()) == [1, 2]


def test_the_reader_returns_what_follows_the_watermark(appending, client, space):
    async def story(writer):
        for n, packed in enumerate(entries, 1):
            await writer.append(0, packed, n)

    entries = [BARE + b"a", BARE + b"bb", BARE + b"ccc"]

    reader = LogReader(client, PartitionKeys(space.name, 0))
    assert reader.read_after(0, block_ms=0, max_bytes=1000) == []
    appending(story)
    read = reader.read_after(0, block_ms=0, max_bytes=1000)
    one, two, three = entries
    assert read == [LogEntry(1, one), LogEntry(3, two), LogEntry(6, three)]
    # inside an entry: the entry is read again, and its sequences tell which events are new
    assert reader.read_after(2, block_ms=0, max_bytes=2) == [LogEntry(3, two)]
    assert reader.read_after(6, block_ms=1, max_bytes=1000) == []


class Held:
    """A way to the store on which scripts wait until they are let through."""

    def __init__(self, socket):
        self.socket, self.open, self.scripts = socket, asyncio.Event(), []

    async def carry(self, reader, writer):
        back, on = await asyncio.open_unix_connection(self.socket)
        pumping = asyncio.create_task(self.pump(back, writer))
        while data := await reader.read(1 << 16):
            if b"EVAL" in data:
                self.scripts.append(data)
                await self.open.wait()
            on.write(data)
        # whoever sent the last one has left; the store carries it out all the same
        on.write_eof()
        await pumping
        on.close()
        writer.close()

    async def pump(self, reader, writer):
        while data := await reader.read(1 << 16):
            writer.write(data)


@pytest.mark.parametrize(("in_time", "last"), [(True, 1), (False, 2)])
def test_what_its_sender_has_given_up_is_appended_no_more_if_it_must_be_in_time(
    redis_url, client, space, in_time, last
):
    async def main():
        way = Held(redis_url.removeprefix("unix://"))
        carried = []

        async def carry(reader, writer):
            carried.append(asyncio.current_task())
            await way.carry(reader, writer)

        server = await asyncio.start_server(carry, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        far = connect_async(f"redis://127.0.0.1:{port}/0", role="test", timeout_s=0.05)
        writer = LogWriter(far, space, max_bytes=1 << 20, retry_s=0.2)
        way.open.set()
        await writer.append(0, BARE, 1)
        way.open.clear()
        with pytest.raises(StoreUnavailable):
            await writer.append(0, BARE, 1, Basis(in_time=in_time))
        assert len(way.scripts) > 1
        way.open.set()
        await far.aclose()
        await asyncio.gather(*carried)
        server.close()

    asyncio.run(main())
    assert int(client.get(PartitionKeys(space.name, 0).sequence)) == last
