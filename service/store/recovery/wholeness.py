"""Whether what a namespace holds fits together: events, watermarks, item numbers.

A rollback of a whole server always leaves a state that fits. One that does not was made by hand: a
part of the keys was deleted, restored or written.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import redis

from service.store.connection import store_errors
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.codec import DELETE_USER, MERGE_USER, MOVE_USER, Entry, decode
from service.store.log.stream import LogEntry

NO_ROWS = "there are histories, but no online state: run `hedgerow rebuild`"
ENTRIES_READ = 64
"""Log entries in one read: bounds how long other clients wait."""
COUNTS_BYTES, SHOWINGS_BYTES = 24, 8
"""Bytes of an item in the counters and in the showings, see ``keys``."""
_NO_ITEM = (MERGE_USER, MOVE_USER, DELETE_USER)
"""Kinds of events whose item is no item number."""


def faults(client: redis.Redis, namespace: str, partitions: int) -> list[str]:
    """Return what does not fit together; nothing if a learner can go on."""
    keys = [PartitionKeys(namespace, partition) for partition in range(partitions)]
    found = [
        f"partition {partition}: {one}"
        for partition, ours in enumerate(keys)
        for one in _of_partition(client, ours)
    ]
    highest = max(highest_item(client, ours) for ours in keys)
    # read last: others may give numbers and append events meanwhile
    with store_errors(), client.pipeline(transaction=True) as pipe:
        pipe.llen(NamespaceKeys(namespace).item_ids)
        pipe.hlen(NamespaceKeys(namespace).item_numbers)
        n_ids, n_numbers = pipe.execute()
    if n_ids != n_numbers:
        found.append(f"{n_numbers} items have a number, but {n_ids} numbers have an item")
    if highest >= n_ids:
        found.append(f"item number {highest} is named, but only {n_ids} were given")
    return found


def highest_item(client: redis.Redis, keys: PartitionKeys) -> int:
    """Return the highest item number that a partition names, -1 if there is none."""
    with store_errors():
        generation = cast("bytes | None", client.hget(keys.state, "generation"))
        counts = client.strlen(keys.counts(int(generation or 0)))
        shown = client.strlen(keys.showings)
    counted = max(counts // COUNTS_BYTES, shown // SHOWINGS_BYTES) - 1
    return max(counted, _highest_in_log(client, keys))


@dataclass(frozen=True)
class Ends:
    """Where the parts of a partition's log begin and end."""

    appended: int
    """The newest event that was appended."""
    watermark: int
    """The newest event that was learned."""
    first: int | None
    """The oldest event in the log; None for an empty log."""
    last: int
    """The newest event that is learned or in the log."""
    has_rows: bool
    """Whether a learner ever was there, or there are no histories."""

    @property
    def follows(self) -> int:
        """The event after which the log begins, if it misses some, else the watermark."""
        if self.first is None:
            return self.last
        return max(self.watermark, self.first - 1)


def ends(client: redis.Redis, keys: PartitionKeys) -> Ends:
    """Return where the log of a partition begins and ends."""
    with store_errors(), client.pipeline(transaction=True) as pipe:
        pipe.get(keys.sequence)
        pipe.hmget(keys.state, ["watermark", "epoch"])
        pipe.xrange(keys.log, count=1)
        pipe.xrevrange(keys.log, count=1)
        pipe.exists(keys.users)
        sequence, state, first, last, has_users = pipe.execute()
    watermark = int(state[0] or 0)
    begins = _begins(first[0], watermark) if first else None
    return Ends(
        appended=int(sequence or 0),
        watermark=watermark,
        first=begins,
        last=max(watermark, _number(last[0][0])) if last else watermark,
        has_rows=bool(int(state[1] or 0)) or not has_users,
    )


def _of_partition(client: redis.Redis, keys: PartitionKeys) -> Iterator[str]:
    found = ends(client, keys)
    if not found.has_rows:
        yield NO_ROWS
    if found.follows > found.watermark:
        yield f"the events after {found.watermark} up to {found.follows} are not in the log"
    if found.last > found.appended:
        yield f"there is event {found.last}, but the newest event is said to be {found.appended}"
    if found.last < found.appended:
        yield f"the newest event is said to be {found.appended}, but the log ends with {found.last}"


def _highest_in_log(client: redis.Redis, keys: PartitionKeys) -> int:
    highest, after = -1, "-"
    while True:
        with store_errors():
            answer: Any = client.xrange(keys.log, after, "+", count=ENTRIES_READ)
        for entry in _decoded(answer):
            items = entry.item[~np.isin(entry.kind, _NO_ITEM)]
            highest = max(highest, int(items.max(initial=0)) if items.size else -1)
        if len(answer) < ENTRIES_READ:
            return highest
        after = f"({answer[-1][0].decode()}"


def _begins(entry: tuple[bytes, dict[bytes, bytes]], watermark: int) -> int:
    """Return the first event of a log entry; one that nobody can read begins where it should."""
    n = [len(one) for one in _decoded([entry])]
    return _number(entry[0]) - n[0] + 1 if n else watermark + 1


def _decoded(entries: Sequence[tuple[bytes, dict[bytes, bytes]]]) -> Iterator[Entry]:
    """Yield the entries that can be read; the learner sets the others aside."""
    for name, fields in entries:
        entry = LogEntry.of(name, fields)
        if entry.is_whole:
            with suppress(ValueError):
                yield decode(entry.packed)


def _number(name: bytes) -> int:
    return int(name.partition(b"-")[0])
