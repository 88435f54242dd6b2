"""Log entries that could not be learned, kept with the reason until an operator decides.

Only the learner's commit adds one: the entry leaves the log and the watermark passes it in the same
transaction. Operators list, replay and discard them (``hedgerow dead-letters``).
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from service.store.connection import Client, store_errors
from service.store.keys import PartitionKeys

KEPT = 1_000
"""Most dead letters of a partition; with so many, its learner stops: they were acknowledged."""


class DeadLetter(Struct, frozen=True):
    """The events ``first .. last`` of a partition, as they stood in the log."""

    first: int
    last: int
    """Also the name of the letter."""
    reason: str
    packed: bytes

    @property
    def n(self) -> int:
        """Return the number of events that were acknowledged in it."""
        return self.last - self.first + 1

    def fields(self) -> Mapping[str, str | int | bytes]:
        """Return the fields of its entry in the stream; the entry is named by ``last``."""
        return {"f": self.first, "r": self.reason, "d": self.packed}


class DeadLetters:
    """The dead letters of one partition."""

    def __init__(self, client: Client, keys: PartitionKeys) -> None:
        self._client, self._key = client, keys.dead

    def count(self) -> int:
        """Return how many there are."""
        with store_errors():
            return int(self._client.xlen(self._key))

    def all(self) -> list[DeadLetter]:
        """Return all, oldest first."""
        with store_errors():
            return _letters(self._client.xrange(self._key))

    def find(self, last: int) -> DeadLetter | None:
        """Return the one whose last event has this sequence."""
        with store_errors():
            found = _letters(self._client.xrange(self._key, f"{last}-0", f"{last}-0"))
        return found[0] if found else None

    def discard(self, last: int) -> bool:
        """Remove one; return whether it was there."""
        with store_errors():
            return bool(self._client.xdel(self._key, f"{last}-0"))


def _letters(entries: Any) -> list[DeadLetter]:
    return [
        DeadLetter(
            first=int(fields[b"f"]),
            last=int(name.partition(b"-")[0]),
            reason=fields[b"r"].decode(errors="replace"),
            packed=fields[b"d"],
        )
        for name, fields in entries
    ]
