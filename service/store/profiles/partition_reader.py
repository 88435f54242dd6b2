"""Reads the state from which a learner continues after its predecessor; rows: see ``rows``."""

from collections.abc import Iterator
from typing import cast

import redis

from core.types import F64, U32
from service.store.connection import store_errors
from service.store.keys import PartitionKeys
from service.store.log.state import read_deleted_items
from service.store.profiles.click_through import SourceCounts, stored_click_through
from service.store.profiles.counters import read_counts
from service.store.profiles.dedupe_chunk import (
    CLOCK,
    DedupeChunk,
    DedupeClock,
    StoredIds,
    StoredWindow,
)
from service.store.profiles.rows import SLICE
from service.store.profiles.showings import read_showings
from service.store.profiles.transitions import TransitionRows, read_journal, read_transitions


class PartitionReader:
    """Reads one partition; writes nothing."""

    def __init__(self, client: redis.Redis, keys: PartitionKeys) -> None:
        self._client, self._keys = client, keys

    def last_generation(self) -> int:
        """Return the highest generation that a rebuild has begun."""
        with store_errors():
            answer = cast("bytes | None", self._client.hget(self._keys.state, "reserved"))
        return int(answer or 0)

    def counts(self, generation: int) -> F64:
        """Return the counters of all items."""
        return read_counts(self._client, self._keys.counts(generation))

    def showings(self) -> U32:
        """Return how often each item was shown and clicked on."""
        return read_showings(self._client, self._keys)

    def transitions(self, generation: int) -> Iterator[TransitionRows]:
        """Yield the rows of all items that follow others."""
        return read_transitions(self._client, self._keys.transitions(generation))

    def transition_journal(self, generation: int) -> Iterator[tuple[int, bytes]]:
        """Yield (sequence, entry) of the changes that some of these rows do not hold."""
        return read_journal(self._client, self._keys.transition_journal(generation))

    def deleted_items(self) -> dict[int, int]:
        """Return item number -> sequence of its deletion."""
        return read_deleted_items(self._client, self._keys)

    def ids(self) -> StoredWindow:
        """Return the stored dedupe window."""
        with store_errors():
            answer = self._client.hgetall(self._keys.dedupe_lists)
        stored = cast("dict[bytes, bytes]", answer)
        texts = {name.decode(): text.decode() for name, text in stored.items()}
        clock = texts.pop(CLOCK, None)
        if clock is None:
            chunks = list(self._chunks(0))
            lists = {0: StoredIds(0, sum(map(len, chunks)), chunks)}
            return StoredWindow(lists if chunks else {})
        lists = {}
        for number, text in texts.items():
            tag, held = text.split()
            chunks = list(self._chunks(int(number)))
            lists[int(number)] = StoredIds(int(tag, 16), int(held), chunks)
        return StoredWindow(lists, DedupeClock.unpack(clock))

    def _chunks(self, number: int) -> Iterator[DedupeChunk]:
        key, first = self._keys.dedupe(number), 0
        while True:
            with store_errors():
                answer = self._client.lrange(key, first, first + SLICE - 1)
            packed = cast("list[bytes]", answer)
            yield from map(DedupeChunk.unpack, packed)
            if len(packed) < SLICE:
                return
            first += SLICE

    def click_through(self) -> dict[str, SourceCounts]:
        """Return the counts of each source, by source in hex."""
        return stored_click_through(self._client, self._keys)

    def impressions_of(self, user: str) -> list[bytes]:
        """Return the ids of the user's entries in the side stream."""
        found: list[bytes] = []
        first = "-"
        while True:
            with store_errors():
                answer = self._client.xrange(self._keys.impressions, first, "+", count=SLICE)
            entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", answer)
            found += [name for name, fields in entries if fields[b"u"] == user.encode()]
            if len(entries) < SLICE:
                return found
            first = f"({entries[-1][0].decode()}"
