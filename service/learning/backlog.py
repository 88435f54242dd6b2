"""Events that were read from the log but not learned yet, as columns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from core.types import F32, I64, U8, U64
from service.arms import parted
from service.errors import Misconfigured
from service.learning.commit_size import CommitSize
from service.learning.dedupe import DedupeWindow, Sighting
from service.learning.inspection import SoundEntry
from service.learning.state.horizon import counted_ms
from service.store.log.codec import (
    AWAITED,
    AWAITED_ANSWER,
    DELETE_RATING,
    DIGEST_BYTES,
    HAS_CONTEXT,
    HAS_DIGEST,
    HAS_PRODUCER,
    HAS_SOURCE,
    MERGE_USER,
    PRODUCER_BYTES,
    Entry,
)
from service.store.log.requests import read_shares

CONTEXT_BYTES = 256
"""Most bytes that an entry or counts take in a commit for a context, without its text."""
LIST_BYTES = 128
"""Most bytes that a commit takes for a list of ids that an entry adds to, without the ids."""
LOOK_AHEAD = 65_536
"""Largest number of events in a batch."""


@dataclass(frozen=True)
class EntrySpan:
    """The events ``first .. end - 1`` of the backlog, which came in one log entry."""

    first: int
    end: int
    packed_bytes: int
    appended_ms: int
    ids: Sighting | None
    """What the window did with the ids of these events; None if they have none."""


class RequestSpan(NamedTuple):
    """The events ``first .. end - 1`` of the backlog: they came with a request that is followed."""

    first: int
    end: int
    request: str


class LearnedRequest(NamedTuple):
    """Events that came with a request that is followed."""

    request: str
    events: int
    through: int
    """Sequence of the last of them."""


class Backlog:
    """n events in the order of the log; ``at`` is the first unlearned one. All arrays (n,)."""

    def __init__(
        self,
        entries: Sequence[SoundEntry],
        watermark: int,
        window: DedupeWindow,
        tolerance_ms: int,
    ) -> None:
        index: dict[str, int] = {}
        columns: list[tuple[Any, ...]] = []
        self.spans: list[EntrySpan] = []
        self.contexts: dict[int, bytes] = {}
        """Where an event happened, as in the log, by its position; only of events that say so."""
        self.arms: dict[int, str] = {}
        """The arm of an experiment that the slate of an event belongs to, by the position."""
        self._requests: list[RequestSpan] = []
        self.at = first = 0
        for last, packed_bytes, entry, requests in entries:
            skip = max(0, watermark + len(entry) - last)
            if requests:
                self._requests += _spans_of(requests, first - skip)
            watermark = _follow(watermark, last, len(entry))
            counted = counted_ms(entry.time_ms[skip:], entry.appended_ms, tolerance_ms)
            ids = _sighting(entry, skip, window)
            columns.append(
                (counted, *_columns(entry, last, skip, index), _repeated(entry, skip, ids))
            )
            self._note_contexts(_contexts(entry, skip, first))
            end = first + len(entry) - skip
            self.spans.append(EntrySpan(first, end, packed_bytes, entry.appended_ms, ids))
            first = end
        self.users = list(index)
        self.counted_ms: I64
        """The times as which events count; histories keep ``time_ms``."""
        self.user_ix: I64
        self.item: I64
        self.value: F32
        self.time_ms: I64
        self.kind: U8
        self.flags: U8
        self.sequence: I64
        self.source: U64
        """Source of the slate that the event names, as a number; 0 for none."""
        self.repeated: U8
        (
            self.counted_ms,
            self.user_ix,
            self.item,
            self.value,
            self.time_ms,
            self.kind,
            self.flags,
            self.sequence,
            self.source,
            self.repeated,
        ) = (np.concatenate(column) for column in zip(*columns, strict=True))
        self._digest_ends: I64 = np.cumsum(self.flags & HAS_DIGEST, dtype=np.int64)
        self._barriers: I64 = np.flatnonzero((self.kind >= DELETE_RATING) & (self.repeated == 0))
        self._name_bytes: I64 = np.array([len(user.encode()) for user in self.users], np.int64)
        has_digest, is_awaited = self.flags & HAS_DIGEST != 0, self.flags & AWAITED != 0
        self._answer_bytes = has_digest * DIGEST_BYTES + is_awaited * AWAITED_ANSWER.itemsize
        for span in self.spans:
            if span.ids is not None:
                self._answer_bytes[span.first] += LIST_BYTES * span.ids.n_lists
        for at, context in self.contexts.items():
            # a user's entry, and for each name and text the counts of all events and of a slate's
            n_pairs = 1 + context.count(b"\n")
            self._answer_bytes[at] += (1 + 2 * n_pairs) * CONTEXT_BYTES + 3 * len(context)
        for at in self.arms:
            self._answer_bytes[at] += CONTEXT_BYTES
        self._user_seen: I64 = np.zeros(len(self.users), dtype=np.int64)
        self._item_seen: I64 = np.zeros(int(self.item.max(initial=0)) + 1, dtype=np.int64)

    def _note_contexts(self, found: Mapping[int, bytes]) -> None:
        for at, context in found.items():
            where, arm = parted(context)
            if where:
                self.contexts[at] = where
            if arm is not None:
                self.arms[at] = str(arm)

    def arrivals(self, end: int) -> list[tuple[int, int]]:
        """Return (time in ms, number) of the events up to ``end`` that are next, by arrival."""
        return [
            (span.appended_ms, min(span.end, end) - max(span.first, self.at))
            for span in self.spans
            if span.first < end and span.end > self.at
        ]

    def requests(self, end: int) -> list[LearnedRequest]:
        """Return the requests that are followed among those of the events up to ``end``."""
        return [
            LearnedRequest(
                span.request,
                events=min(span.end, end) - max(span.first, self.at),
                through=int(self.sequence[min(span.end, end) - 1]),
            )
            for span in self._requests
            if span.first < end and span.end > self.at
        ]

    def __len__(self) -> int:
        return len(self.sequence)

    @property
    def is_done(self) -> bool:
        """Whether all events are learned."""
        return self.at == len(self)

    def batch_end(
        self, *, size: CommitSize, max_bytes: int, max_users: int, max_events: int
    ) -> int:
        """Return the end of the next batch: before a deletion, or before a commit gets too large.

        A deletion or merge is a batch by itself.
        """
        end = min(len(self), self.at + max(1, min(max_events, LOOK_AHEAD)))
        following = self._barriers[np.searchsorted(self._barriers, self.at) :]
        if following.size:
            if following[0] == self.at:
                return self.at + 1
            end = min(end, int(following[0]))
        new_user = _first_of_each(self.user_ix[self.at : end], self._user_seen)
        new_item = _first_of_each(self.item[self.at : end], self._item_seen)
        n_bytes = size.of(
            self._answer_bytes[self.at : end],
            new_user,
            self._name_bytes[self.user_ix[self.at : end]],
            new_item,
            len(self._item_seen) - 1,
        )
        fits = (n_bytes <= max_bytes) & (np.cumsum(new_user) <= max_users)
        # both sums grow, so the events that fit are the first ones
        return self.at + max(1, int(np.count_nonzero(fits)))

    def distinct_users(self, end: int) -> I64:
        """Return the distinct user numbers of the batch, in the order of their first events."""
        users = self.user_ix[self.at : end]
        distinct: I64 = users[_first_of_each(users, self._user_seen)]
        return distinct

    def sightings(self, end: int) -> list[Sighting]:
        """Return what the window did with the ids of the batch, entry by entry."""
        before = self._digests_before(self.at)
        if self._digests_before(end) == before:
            return []
        return [part for span in self._spans(end) for part in self._sighted(span, end)]

    def done_bytes(self, end: int) -> int:
        """Return the bytes of the entries that end inside the batch: the log can drop them."""
        return sum(span.packed_bytes for span in self._spans(end) if span.end <= end)

    def newest_ms(self, end: int) -> int:
        """Return the time when the last event of the batch was appended, in ms."""
        return max((span.appended_ms for span in self._spans(end)), default=0)

    def _spans(self, end: int) -> list[EntrySpan]:
        return [span for span in self.spans if span.first < end and span.end > self.at]

    def _sighted(self, span: EntrySpan, end: int) -> list[Sighting]:
        if span.ids is None:
            return []
        before = self._digests_before(span.first)
        first = self._digests_before(max(span.first, self.at)) - before
        last = self._digests_before(min(span.end, end)) - before
        return [span.ids.part(first, last)] if last > first else []

    def _digests_before(self, position: int) -> int:
        return int(self._digest_ends[position - 1]) if position else 0


def _spans_of(requests: bytes, first: int) -> Iterator[RequestSpan]:
    """Yield the events of each request that is followed; the entry begins at ``first``."""
    for n, request in read_shares(requests):
        if request:
            yield RequestSpan(first, first + n, request)
        first += n


def _follow(watermark: int, last: int, n: int) -> int:
    """Return the new watermark; events may be repeated, but none may be missing."""
    if last - n > watermark:
        raise Misconfigured(
            f"the log lacks events {watermark + 1} to {last - n}: "
            "restore the store from its last backup"
        )
    return last


def _columns(entry: Entry, last: int, skip: int, index: dict[str, int]) -> tuple[Any, ...]:
    """Return an entry's columns after its first ``skip`` events; ``index`` numbers the users."""
    numbers = [index.setdefault(user, len(index)) for user in entry.users]
    return (
        np.array(numbers, dtype=np.int64)[entry.user_ix[skip:]],
        _items(entry, numbers)[skip:],
        entry.value[skip:],
        entry.time_ms[skip:],
        entry.kind[skip:],
        entry.flags[skip:],
        np.arange(last - len(entry) + 1 + skip, last + 1, dtype=np.int64),
        _source(entry)[skip:],
    )


def _sighting(entry: Entry, skip: int, window: DedupeWindow) -> Sighting | None:
    """Show the window the ids of an entry's events after the first ``skip``."""
    if not entry.digests:
        return None
    has = (entry.flags & HAS_DIGEST) != 0
    digests = np.frombuffer(entry.digests, dtype=np.uint8).reshape(-1, DIGEST_BYTES)
    digests = digests[int(np.count_nonzero(has[:skip])) :]
    if not len(digests):
        return None
    is_named = (entry.flags[skip:][has[skip:]] & HAS_PRODUCER) != 0
    if not is_named.all():
        digests = digests.copy()
        digests[~is_named, -PRODUCER_BYTES:] = 0
    return window.see(digests, entry.appended_ms)


def _repeated(entry: Entry, skip: int, ids: Sighting | None) -> U8:
    repeated = np.zeros(len(entry) - skip, dtype=np.uint8)
    if ids is not None:
        repeated[(entry.flags[skip:] & HAS_DIGEST) != 0] = ids.repeated
    return repeated


def _contexts(entry: Entry, skip: int, first: int) -> dict[int, bytes]:
    """Return the contexts of an entry after its first ``skip`` events, by position in a backlog."""
    rows = np.flatnonzero(entry.flags & HAS_CONTEXT) if entry.contexts else ()
    return {
        first + int(row) - skip: context
        for row, context in zip(rows, entry.contexts, strict=False)
        if row >= skip
    }


def _source(entry: Entry) -> U64:
    source = np.zeros(len(entry), dtype=np.uint64)
    if entry.sources:
        source[(entry.flags & HAS_SOURCE) != 0] = np.frombuffer(entry.sources, dtype="<u8")
    return source


def _items(entry: Entry, numbers: list[int]) -> I64:
    """Return the item of each event; for a merge the number of the other user."""
    item = entry.item.astype(np.int64)
    merges = np.flatnonzero(entry.kind == MERGE_USER)
    item[merges] = np.array(numbers, dtype=np.int64)[item[merges]]
    return item


def _first_of_each(values: I64, scratch: I64) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Mark the first of equal values; ``scratch`` is indexed by value and need not be cleared."""
    order = np.arange(len(values))
    # the last assignment to an index wins; assigned backwards, that is the first one
    scratch[values[::-1]] = order[::-1]
    first: np.ndarray[Any, np.dtype[np.bool_]] = scratch[values] == order
    return first
