"""Reads what is stored of one user, also what no list reads: for an export."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import redis.asyncio
from numpy.typing import NDArray

from service.store.connection import store_errors
from service.store.keys import PartitionKeys
from service.store.namespace import Namespace
from service.store.partitions import partition_of
from service.store.profiles.contexts import Contexts, read_contexts
from service.store.profiles.history_record import HISTORY, read_history
from service.store.profiles.history_store import read_trimmed

ENTRIES_READ = 1_000
"""Entries of the side stream per read: bounds how long other clients of Redis wait."""


@dataclass(frozen=True)
class Stored:
    """What is stored of a user; records are of ``history_record.HISTORY``."""

    history: NDArray[Any]
    """All records, oldest first, of deleted items too."""
    trimmed: NDArray[np.uint32]
    """Items whose records were trimmed away."""
    contexts: Contexts
    """Where events of the history happened."""
    impressions: NDArray[Any]
    """The latest, as far as the side stream reaches back."""
    watermark: int
    """Sequence up to which the records are complete."""


async def read_stored(client: redis.asyncio.Redis, namespace: Namespace, user: str) -> Stored:
    """Return what is stored of a user."""
    keys = PartitionKeys(namespace.name, partition_of(user, namespace.partitions))
    with store_errors():
        pipe = client.pipeline(transaction=True)
        pipe.hget(keys.state, "watermark")
        pipe.get(keys.history(user))
        pipe.mget(keys.trimmed(user), keys.contexts(user))
        watermark, history, [trimmed, contexts] = await pipe.execute()
    return Stored(
        history=read_history(history),
        trimmed=read_trimmed(trimmed),
        contexts=read_contexts(contexts),
        impressions=await _impressions(client, keys, user.encode()),
        watermark=int(watermark or 0),
    )


async def _impressions(
    client: redis.asyncio.Redis, keys: PartitionKeys, user: bytes
) -> NDArray[Any]:
    found: list[bytes] = []
    first = "-"
    while True:
        with store_errors():
            entries: Any = await client.xrange(keys.impressions, first, "+", count=ENTRIES_READ)
        found += [fields[b"d"] for _, fields in entries if fields[b"u"] == user]
        if len(entries) < ENTRIES_READ:
            return np.frombuffer(b"".join(found), HISTORY)
        first = f"({entries[-1][0].decode()}"
