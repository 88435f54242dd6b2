"""The stored click-through: the number of events of each kind that followed slates of each source.

A source names the ranker and model of a slate in 8 bytes (see ``rec_ids``). The learner counts, see
``learning/click_through.py``.
"""

import json
from collections import Counter
from collections.abc import Awaitable, Iterator
from dataclasses import asdict, dataclass, field
from typing import cast

import redis
import redis.asyncio

from service.arms import MARK, CountedArm
from service.store.connection import store_errors
from service.store.keys import PartitionKeys


@dataclass
class SourceCounts:
    """The events that followed the slates of one source."""

    last: int = 0
    """Sequence of the newest event."""
    events: dict[str, int] = field(default_factory=dict)
    """Number of events by kind code."""


def pack_counts(counts: SourceCounts) -> bytes:
    """Return the stored form of a source's counts.

    >>> pack_counts(SourceCounts(2000, {"6": 100}))
    b'{"last": 2000, "events": {"6": 100}}'
    """
    return json.dumps(asdict(counts)).encode()


def unpack_counts(packed: bytes) -> SourceCounts:
    """Read what ``pack_counts`` returned."""
    return SourceCounts(**json.loads(packed))


def stored_click_through(client: redis.Redis, keys: PartitionKeys) -> dict[str, SourceCounts]:
    """Return the counts of a partition by source in hex."""
    with store_errors():
        stored = cast("dict[bytes, bytes]", client.hgetall(keys.responses))
    return {name.decode(): unpack_counts(packed) for name, packed in stored.items()}


def in_context(source: str, pair: str) -> str:
    """Return the name of a source's counts in a context `name=text`."""
    return f"{source}|{pair}"


ALL = ""
"""In the place of a source: all events, whether they name a slate or not."""


def is_of_all(name: str) -> bool:
    """Return whether counts are those of all events in a context."""
    return name.startswith("|")


def is_of_arm(name: str) -> bool:
    """Return whether counts are those of an arm of an experiment, of a bucket of its users."""
    return name.startswith(MARK)


def is_in_context(name: str) -> bool:
    """Return whether counts are those in a context."""
    return "|" in name


async def read_click_through(
    client: redis.asyncio.Redis, namespace: str, partitions: int, context: str = ""
) -> dict[bytes, Counter[int]]:
    """Return the number of events of each kind code by source, summed over the partitions.

    With a ``context`` `name=text`, those that happened there.
    """
    found: dict[bytes, Counter[int]] = {}
    for partition in range(partitions):
        for name, events in await _stored(client, PartitionKeys(namespace, partition)):
            source, _, pair = name.partition("|")
            if pair == context and not is_of_all(name) and not is_of_arm(name):
                found.setdefault(bytes.fromhex(source), Counter()).update(events)
    return found


async def read_contexts(
    client: redis.asyncio.Redis, namespace: str, partitions: int
) -> dict[str, Counter[int]]:
    """Return the number of events of each kind code by context `name=text`, over all partitions."""
    found: dict[str, Counter[int]] = {}
    for partition in range(partitions):
        for name, events in await _stored(client, PartitionKeys(namespace, partition)):
            if is_of_all(name):
                found.setdefault(name.removeprefix("|"), Counter()).update(events)
    return found


async def read_arms(
    client: redis.asyncio.Redis, namespace: str, partitions: int
) -> dict[CountedArm, Counter[int]]:
    """Return the events of each kind code by arm and bucket of users, over all partitions."""
    found: dict[CountedArm, Counter[int]] = {}
    for partition in range(partitions):
        for name, events in await _stored(client, PartitionKeys(namespace, partition)):
            arm = CountedArm.of(name) if is_of_arm(name) else None
            if arm is not None:
                found.setdefault(arm, Counter()).update(events)
    return found


async def _stored(
    client: redis.asyncio.Redis, keys: PartitionKeys
) -> Iterator[tuple[str, dict[int, int]]]:
    """Return the names of a partition's counts, each with the number of events by kind code."""
    with store_errors():
        stored = await cast("Awaitable[dict[bytes, bytes]]", client.hgetall(keys.responses))
    return (
        (name.decode(), {int(kind): n for kind, n in unpack_counts(packed).events.items()})
        for name, packed in stored.items()
    )
