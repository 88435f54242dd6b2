"""Log entries that could not be learned, kept with the reason until an operator decides.

Only the learner's commit adds one: the entry leaves the log and the watermark passes it in the same
transaction. Operators list, replay and discard them (``hedgerow dead-letters``); the erasure of a
deleted user takes that user's events out of them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct, structs
from redis import exceptions as redis_errors

from service.store.connection import Client, store_errors
from service.store.keys import PartitionKeys
from service.store.log.codec import decode, encode, without
from service.store.log.stream_bytes import drop_removed

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

    def covers(self, sequence: int) -> bool:
        """Return whether one holds the event with this sequence."""
        with store_errors():
            found = _letters(self._client.xrange(self._key, f"{sequence}-0", count=1))
        return bool(found) and found[0].first <= sequence

    def discard(self, last: int) -> bool:
        """Remove one; return whether it was there."""
        with store_errors():
            was_there = bool(self._client.xdel(self._key, f"{last}-0"))
        drop_removed(self._client, self._key)
        return was_there

    def leave_out(self, until: Mapping[str, int]) -> tuple[int, int]:
        """Remove the events of users up to a sequence of each; a letter that holds no other goes.

        Later events of the same users stay: they came after the deletion.

        Return how many events those were, and how many letters that cannot be read may name one of
        the users.
        """
        pipe: Any
        while True:
            try:
                with store_errors(), self._client.pipeline() as pipe:
                    pipe.watch(self._key)
                    letters = _letters(pipe.xrange(self._key))
                    left = [_left_of(letter, until) for letter in letters]
                    n = sum(one.n for one in left)
                    if n:
                        pipe.multi()
                        # entries of a stream cannot be changed
                        pipe.delete(self._key)
                        for one in left:
                            if one.letter is not None:
                                name = f"{one.letter.last}-0"
                                pipe.xadd(self._key, dict(one.letter.fields()), id=name)
                        pipe.execute()
                return n, sum(one.is_unreadable for one in left)
            except redis_errors.WatchError:
                continue


class _Left(NamedTuple):
    """What is left of a letter without some users."""

    letter: DeadLetter | None
    n: int = 0
    """Number of events that were removed."""
    is_unreadable: bool = False
    """Whether it cannot be read, and holds what may be the name of one of the users."""


def _left_of(letter: DeadLetter, until: Mapping[str, int]) -> _Left:
    users = {user for user, sequence in until.items() if letter.first <= sequence}
    if not any(user.encode() in letter.packed for user in users):
        return _Left(letter)
    try:
        entry = decode(letter.packed)
        left = without(entry, until, letter.first)
    except (ValueError, IndexError):
        # others' events may be in it, and an operator may still make something of them
        return _Left(letter, is_unreadable=True)
    n = len(entry) - len(left)
    if not len(left):
        return _Left(None, n)
    return _Left(structs.replace(letter, packed=encode(left)), n)


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
