"""The stored form of the dedupe window: one chunk per log entry, added by the commit."""

from dataclasses import dataclass
from typing import Self

from service.store.log.codec import DIGEST_BYTES

_MS = 8


@dataclass(frozen=True, slots=True)
class DedupeChunk:
    """Digests of the events of one log entry that carried an id."""

    appended_ms: int
    """Time by the api's clock when it appended the entry."""
    digests: bytes
    """``DIGEST_BYTES`` per event, in the order of the events."""

    def __len__(self) -> int:
        return len(self.digests) // DIGEST_BYTES

    def pack(self) -> bytes:
        """Return the stored bytes."""
        return self.appended_ms.to_bytes(_MS, "little", signed=True) + self.digests

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        """Read what ``pack`` returned."""
        return cls(int.from_bytes(packed[:_MS], "little", signed=True), packed[_MS:])
