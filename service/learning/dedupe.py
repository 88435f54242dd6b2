"""Detection of duplicates: the latest events with an id, in a window that producers share.

Each producer has a list of its own. A full window forgets the oldest id of the longest list, so
that nobody who holds less than a share loses an id to somebody who holds more. An id is the same
whoever sends it.

Ages are counted in the times that api processes wrote to the log, never by the learner's clock, so
that a replay drops the same events. The clock of an api process may jump: from one entry to the
next an age grows by a minute at most, so a wrong clock makes the window forget later, never sooner.

What the window does depends on the log alone, and what is stored with a commit is the window as of
that commit: neither batches nor restarts change what is a repeat.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.kernels.window import (
    DISPLACED,
    HELD,
    INTO,
    NO_LIST,
    REPEATED,
    SHARED,
    TAG,
    IdSet,
    forget_older,
    restore,
    window,
)
from core.types import I64, U8, U64
from service.store.log.codec import DIGEST_BYTES, LISTS, PRODUCER_BYTES
from service.store.profiles.commit import NO_DEDUPE_CHANGE, DedupeChange
from service.store.profiles.dedupe_chunk import (
    DedupeChunk,
    DedupeClock,
    ListChange,
    StoredWindow,
)

LONGEST_STEP_MS = 60_000
"""How far one entry of the log may advance the age of what is remembered."""


class _Ages:
    """Turns the times of entries, in their order, into ages that never jump and never go back."""

    def __init__(self, clock: DedupeClock | None = None) -> None:
        self.clock = clock

    def at(self, appended_ms: int) -> int:
        """Return the age of the log at its next entry."""
        before = self.clock or DedupeClock(appended_ms, 0)
        step = min(max(appended_ms - before.latest_ms, 0), LONGEST_STEP_MS)
        self.clock = DedupeClock(max(appended_ms, before.latest_ms), before.age_ms + step)
        return self.clock.age_ms


@dataclass(frozen=True)
class Sighting:
    """What the window did with the ids of one entry, in their order."""

    digests: U8
    """(n, 16)."""
    told: U8
    """(n, 3), see ``core.kernels.window``."""
    forgotten: I64
    """(lists,): how many ids got too old before."""
    clock: DedupeClock

    @property
    def repeated(self) -> U8:
        """1 for each id that was in the window."""
        repeated: U8 = self.told[:, REPEATED]
        return repeated

    @property
    def n_lists(self) -> int:
        """How many lists it changed at most."""
        return len(np.unique(self.told[:, INTO:])) + int(np.count_nonzero(self.forgotten))

    def part(self, first: int, end: int) -> "Sighting":
        """Return what was done with some of the ids; with the first of them, others got old."""
        forgotten = np.zeros_like(self.forgotten) if first else self.forgotten
        digests, told = self.digests[first:end], self.told[first:end]
        return replace(self, digests=digests, told=told, forgotten=forgotten)


class _StoredList:
    """One list as it is stored: how many ids count, and in which chunks they are."""

    def __init__(self) -> None:
        self.tag = self.held = 0
        self._sizes: deque[int] = deque()
        self._stored = 0

    def add(self, chunks: Sequence[DedupeChunk]) -> None:
        self._sizes.extend(map(len, chunks))
        self._stored += sum(map(len, chunks))

    def change(self, chunks: Sequence[DedupeChunk]) -> ListChange:
        """Return what to store: new chunks, and without those that hold nothing that counts."""
        self.add(chunks)
        obsolete = 0
        while self._sizes and self._stored - self._sizes[0] >= self.held:
            self._stored -= self._sizes.popleft()
            obsolete += 1
        return ListChange(self.tag, self.held, chunks, obsolete)


class DedupeWindow:
    """The window in memory, which runs ahead of commits, and what is stored of it."""

    def __init__(self, size: int, max_age_ms: int, *, n_lists: int = LISTS) -> None:
        self._size, self._max_age_ms = size, max_age_ms
        places = max(size, 1)
        self._ids = IdSet(
            low=np.zeros(places, dtype=np.uint64),
            high=np.zeros(places, dtype=np.uint32),
            age=np.zeros(places, dtype=np.int64),
            after=np.arange(1, places + 1, dtype=np.int32),
            table=np.full(1 << (2 * places - 1).bit_length(), -1, dtype=np.int32),
            lists=np.zeros((n_lists, 4), dtype=np.int64),
            ends=np.zeros(2, dtype=np.int64),
        )
        self._ages = _Ages()
        self._stored = [_StoredList() for _ in range(n_lists)]
        self._unsaved: set[int] = set()
        """Lists that hold less than is stored, because the window has become smaller."""

    def see(self, digests: U8, appended_ms: int) -> Sighting:
        """Add the ids of an entry; ``digests`` (n, 16) end with the producer, 0 for none."""
        told = np.zeros((len(digests), 3), dtype=np.uint8)
        told[:, INTO:] = NO_LIST
        forgotten = np.zeros(len(self._stored), dtype=np.int64)
        age_ms = self._ages.at(appended_ms)
        if self._size:
            forget_older(age_ms - self._max_age_ms, self._ids, forgotten)
            window(_numbers(digests.tobytes()), age_ms, self._ids, told)
        assert self._ages.clock is not None  # noqa: S101 - it has just told an age
        return Sighting(digests, told, forgotten, self._ages.clock)

    def load(self, stored: StoredWindow) -> None:
        """Fill an empty window with what is stored."""
        self._ages = _Ages(stored.clock)
        for number, one in stored.lists.items():
            chunks = self._aged(one.chunks)
            self._stored[number].add(chunks)
            self._ids.lists[number, TAG] = self._stored[number].tag = one.tag
            if self._size:
                for age_ms, digests in _newest(chunks, one.held):
                    restore(_numbers(digests), age_ms, number, self._ids)
        for number, one in stored.lists.items():
            self._stored[number].held = int(self._ids.lists[number, HELD])
            if self._stored[number].held != one.held:
                self._unsaved.add(number)

    def store(self, sightings: Sequence[Sighting]) -> DedupeChange:
        """Return what the commit stores that holds these ids, which follow the last ones."""
        if not sightings:
            return NO_DEDUPE_CHANGE
        chunks: dict[int, list[DedupeChunk]] = {number: [] for number in self._unsaved}
        self._unsaved.clear()
        for one in sightings:
            displaced = one.told[one.told[:, DISPLACED] != NO_LIST, DISPLACED]
            gone = one.forgotten + np.bincount(displaced, minlength=len(self._stored))
            for number in np.flatnonzero(gone).tolist():
                self._stored[number].held -= int(gone[number])
                chunks.setdefault(number, [])
            for number, digests in _by_list(one):
                self._stored[number].held += len(digests)
                self._stored[number].tag = 0 if number == SHARED else _tag(digests[-1])
                chunk = DedupeChunk(one.clock.age_ms, digests.tobytes())
                chunks.setdefault(number, []).append(chunk)
        lists = {number: self._stored[number].change(new) for number, new in chunks.items()}
        return DedupeChange(lists=lists, clock=sightings[-1].clock)

    def _aged(self, chunks: Sequence[DedupeChunk]) -> list[DedupeChunk]:
        """Return the chunks with ages; those from before there were any come before age 0."""
        ages = _Ages()
        first = [ages.at(chunk.ms) for chunk in chunks if not chunk.has_age]
        if first and self._ages.clock is None and ages.clock is not None:
            self._ages = _Ages(DedupeClock(ages.clock.latest_ms, 0))
        aged = [
            DedupeChunk(age - first[-1], chunk.digests)
            for age, chunk in zip(first, chunks, strict=False)
        ]
        return aged + list(chunks[len(first) :])


def _numbers(digests: bytes) -> U64:
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64).reshape(-1, 2)


def _tag(digest: U8) -> int:
    return int.from_bytes(digest[-PRODUCER_BYTES:].tobytes(), "little")


def _newest(chunks: Sequence[DedupeChunk], n: int) -> Iterator[tuple[int, bytes]]:
    """Yield the age and the digests of the newest n ids, oldest first."""
    surplus = sum(map(len, chunks)) - n
    for chunk in chunks:
        skip = min(max(surplus, 0), len(chunk))
        surplus -= skip
        yield chunk.ms, chunk.digests[DIGEST_BYTES * skip :]


def _by_list(seen: Sighting) -> Iterator[tuple[int, U8]]:
    """Yield the lists that took ids, and these ids."""
    into = seen.told[:, INTO]
    for number in np.unique(into).tolist():
        if number != NO_LIST:
            yield number, seen.digests[into == number]
