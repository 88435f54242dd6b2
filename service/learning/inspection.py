"""Find log entries that cannot be learned, before anything of them is learned.

An entry that fails is wholly set aside: the api wrote it whole, so a part of it that looks sound
may be as damaged as the rest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.meaning import RATING
from core.scale import Scale
from service.store.log.codec import (
    DELETE_RATING,
    DELETE_USER,
    DIGEST_BYTES,
    HAS_DIGEST,
    HAS_SOURCE,
    MERGE_USER,
    MOVE_USER,
    SOURCE_BYTES,
    Entry,
    decode,
)
from service.store.log.dead_letters import DeadLetter
from service.store.log.stream import LogEntry

NEWEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999: the api accepts no later time."""
DAMAGED = "its bytes were damaged in the store: they do not fit their checksum"
LONGEST_ID = 256
"""Code points of the longest id."""
least, most = np.minimum.reduce, np.maximum.reduce
"""``min`` and ``max`` of an array, without what numpy does around them."""


class SoundEntry(NamedTuple):
    """A log entry that can be learned."""

    last: int
    """Sequence of its last event."""
    packed_bytes: int
    entry: Entry
    requests: bytes = b""
    """As in ``LogEntry``."""


@dataclass(frozen=True)
class Inspected:
    """The sound entries up to the first that cannot be learned, and that one."""

    sound: Sequence[SoundEntry]
    dead: DeadLetter | None
    requests: bytes = b""
    """Of the one that cannot be learned, as in ``LogEntry``."""


class Inspection:
    """Checks entries against the scale and the items that have a number."""

    def __init__(self, scale: Scale, count_items: Callable[[], int]) -> None:
        """``count_items`` returns how many item numbers were given out; it asks the store."""
        self._scale, self._count_items = scale, count_items
        self._n_items = 0

    def of(self, entries: Sequence[LogEntry], watermark: int) -> Inspected:
        """Inspect entries that follow a watermark, up to the first that cannot be learned."""
        sound: list[SoundEntry] = []
        for last, packed, is_whole, requests in entries:
            try:
                entry = self.read(packed, is_whole=is_whole)
            except ValueError as error:
                dead = DeadLetter(watermark + 1, last, str(error), packed)
                return Inspected(sound, dead, requests)
            sound.append(SoundEntry(last, len(packed), entry, requests))
            watermark = last
        return Inspected(sound, None)

    def read(self, packed: bytes, *, is_whole: bool = True) -> Entry:
        """Return the events of an entry; ValueError says why it cannot be learned."""
        if not is_whole:
            raise ValueError(DAMAGED)
        entry = decode(packed)
        fault = _shape_fault(entry) or self._event_fault(entry)
        if fault is not None:
            raise ValueError(fault)
        return entry

    def _event_fault(self, entry: Entry) -> str | None:
        kind = entry.kind
        if int(most(kind)) == RATING and self._are_sound_ratings(entry):
            return None
        if int(kind.max()) > MOVE_USER:
            return f"it has an event of kind {int(kind.max())}, which no version has"
        rated = entry.value[kind == RATING]
        if rated.size and not (self._scale.low <= rated.min() and rated.max() <= self._scale.high):
            # NaN fails the comparison, too
            return f"it has a rating outside {self._scale.low:g} to {self._scale.high:g}"
        times = entry.time_ms[kind < DELETE_RATING]
        if times.size and not -NEWEST_MS <= times.min() <= times.max() <= NEWEST_MS:
            return "it has an event dated beyond the year 9999"
        merged = entry.item[kind == MERGE_USER]
        if merged.size and int(merged.max()) >= len(entry.users):
            return f"it merges user {int(merged.max())} of {len(entry.users)}"
        items = entry.item[kind < DELETE_USER]
        return self._item_fault(int(items.max())) if items.size else None

    def _are_sound_ratings(self, entry: Entry) -> bool:
        """Return whether ratings have no fault; quick, *same as* checking what events may be.

        Requests that come alone make small entries, and the learner gets many of them.
        """
        value, times = entry.value, entry.time_ms
        return bool(
            self._scale.low <= least(value)
            and most(value) <= self._scale.high
            and least(times) >= -NEWEST_MS
            and most(times) <= NEWEST_MS
            and most(entry.item) < self._n_items
        )

    def _item_fault(self, item: int) -> str | None:
        if item >= self._n_items:
            self._n_items = self._count_items()
        if item >= self._n_items:
            return f"it names item number {item}, but only {self._n_items} were given out"
        return None


def _shape_fault(entry: Entry) -> str | None:
    if not len(entry):
        return "it has no events"
    if int(most(entry.user_ix)) >= len(entry.users):
        return f"it names user {int(entry.user_ix.max())} of {len(entry.users)}"
    if max(map(len, entry.users)) > LONGEST_ID:
        return f"it has a user id longer than {LONGEST_ID} characters"
    if not (entry.digests or entry.sources or entry.flags.any()):
        return None
    for what, held, size, flag in (
        ("ids of events", entry.digests, DIGEST_BYTES, HAS_DIGEST),
        ("sources", entry.sources, SOURCE_BYTES, HAS_SOURCE),
    ):
        wanted = size * int(np.count_nonzero(entry.flags & flag))
        if (held or flag == HAS_DIGEST) and len(held) != wanted:
            return f"its {what} have {len(held)} bytes instead of {wanted}"
    return None
