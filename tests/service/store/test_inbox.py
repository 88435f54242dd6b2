"""An inbox that somebody removes while it is in use is made again."""

import asyncio

from service.store.connection import connect_async
from service.store.inbox import Entry, Inbox
from service.store.keys import PartitionKeys


def test_an_inbox_that_is_removed_at_any_moment_is_made_again(
    redis_url: str, namespace: str
) -> None:
    key = PartitionKeys(namespace, 0).inbox

    async def use() -> None:
        async with connect_async(redis_url, role="test") as client:
            inbox = Inbox(client, namespace, 1, patience_s=0)
            await inbox.open()
            await client.delete(key)
            assert await inbox.take_over(10) == []
            await client.delete(key)
            await inbox.hold([Entry(0, "1-1", b"{}")])
            await client.xadd(key, {"event": "{}"})
            [entry] = await inbox.read(10, 1)
            assert entry.event == b"{}"
            await client.delete(key)
            await inbox.close()
            assert await client.exists(key)

    asyncio.run(use())
