"""The stored form of the dedupe window: a list of chunks for each producer, kept by the commit.

A chunk holds the ids that one log entry brought to one list. Whole chunks are dropped when all of
their ids are forgotten; ``held`` says how many ids of a list count, and these are its newest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from service.store.log.codec import DIGEST_BYTES

_MS = 8
_VERSION = b"\2"
CLOCK = "clock"
"""The field beside those of the lists."""


@dataclass(frozen=True, slots=True)
class DedupeChunk:
    """Ids of the events of one log entry, as ``digests``."""

    ms: int
    """The age of the log at the entry; before there were ages, the time when it was appended."""
    digests: bytes
    """``DIGEST_BYTES`` per event, in the order of the events."""
    has_age: bool = True

    def __len__(self) -> int:
        return len(self.digests) // DIGEST_BYTES

    def pack(self) -> bytes:
        """Return the stored bytes."""
        first = _VERSION if self.has_age else b""
        return first + self.ms.to_bytes(_MS, "little", signed=True) + self.digests

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        """Read what ``pack`` returned; only a chunk with an age is a byte longer."""
        has_age = len(packed) % DIGEST_BYTES != _MS
        at = len(_VERSION) if has_age else 0
        ms = int.from_bytes(packed[at : at + _MS], "little", signed=True)
        return cls(ms, packed[at + _MS :], has_age)


@dataclass(frozen=True, slots=True)
class DedupeClock:
    """How far the ages are."""

    latest_ms: int
    """The latest time of an entry."""
    age_ms: int
    """The age of the log then."""

    def pack(self) -> str:
        """Return the stored text."""
        return f"{self.latest_ms} {self.age_ms}"

    @classmethod
    def unpack(cls, packed: str) -> Self:
        """Read what ``pack`` returned."""
        latest, age = packed.split()
        return cls(int(latest), int(age))


@dataclass(frozen=True, slots=True)
class StoredIds:
    """One list as it is stored."""

    tag: int
    """The producer; 0 for none."""
    held: int
    """How many of the newest ids count."""
    chunks: Sequence[DedupeChunk]
    """Oldest first."""


@dataclass(frozen=True, slots=True)
class StoredWindow:
    """The whole window as it is stored."""

    lists: Mapping[int, StoredIds] = field(default_factory=dict)
    """By number."""
    clock: DedupeClock | None = None
    """None before there were ages."""


@dataclass(frozen=True, slots=True)
class ListChange:
    """What a commit changes of one list."""

    tag: int
    held: int
    """How many ids count afterwards; 0 removes the list."""
    chunks: Sequence[DedupeChunk]
    """New chunks."""
    obsolete: int
    """How many of the oldest chunks to remove then."""

    def standing(self) -> str:
        """Return the stored text beside the chunks."""
        return f"{self.tag:08x} {self.held}"
