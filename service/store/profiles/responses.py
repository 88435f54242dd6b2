"""What users made of the slates, as the learner counts it: reading, summed over the partitions."""

from collections import Counter
from collections.abc import Awaitable
from typing import cast

import msgspec
import redis.asyncio

from service.store.connection import store_errors
from service.store.keys import PartitionKeys


class _Counted(msgspec.Struct):
    last: int
    events: dict[str, int]


async def read_responses(
    client: redis.asyncio.Redis, namespace: str, partitions: int
) -> dict[bytes, Counter[int]]:
    """Return for each source (see ``rec_ids``) how many events of each kind code answered to its slates."""
    found: dict[bytes, Counter[int]] = {}
    for partition in range(partitions):
        key = PartitionKeys(namespace, partition).responses
        with store_errors():
            stored = await cast("Awaitable[dict[bytes, bytes]]", client.hgetall(key))
        for name, packed in stored.items():
            events = msgspec.json.decode(packed, type=_Counted).events
            counts = found.setdefault(bytes.fromhex(name.decode()), Counter())
            counts.update({int(kind): n for kind, n in events.items()})
    return found
