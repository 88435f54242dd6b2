"""The stored topics: the top items of each component of the non-negative expert."""

import json
from collections.abc import Awaitable, Sequence
from typing import TypedDict, cast

import redis
import redis.asyncio

from service.store.connection import store_errors
from service.store.keys import PartitionKeys


class TopicItem(TypedDict):
    """An item and how strongly it belongs to the topic."""

    item: str
    strength: float


class StoredTopics(TypedDict):
    """The topics as of one event."""

    sequence: int
    """Sequence of the newest event that was learned."""
    topics: Sequence[Sequence[TopicItem]]


def write_topics(client: redis.Redis, keys: PartitionKeys, topics: StoredTopics) -> None:
    """Replace the stored topics."""
    with store_errors():
        client.set(keys.topics, json.dumps(topics))


async def read_topics(client: redis.asyncio.Redis, keys: PartitionKeys) -> StoredTopics | None:
    """Return the stored topics, None before the first."""
    with store_errors():
        answer = await cast("Awaitable[bytes | None]", client.get(keys.topics))
    return None if answer is None else cast("StoredTopics", json.loads(answer))
