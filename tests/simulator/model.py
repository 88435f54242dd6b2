"""The model of the service: the log as a list, the histories as plain dictionaries."""

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass

from service.store.log.codec import (
    DELETE_RATING,
    DELETE_USER,
    DIGEST_BYTES,
    HAS_DIGEST,
    MERGE_USER,
    MOVE_USER,
    MOVED,
    PRODUCER_BYTES,
    decode,
)


@dataclass(frozen=True)
class Logged:
    """An event as the log has it."""

    kind: int
    user: str
    item: int
    """Its number; of a merge a place among the users of the entry."""
    value: float
    time_ms: int
    event_id: bytes
    """What stands for its id, whoever sent it; empty if it has none."""
    target: str = ""
    """The user that a merge moves the events to."""
    is_copy: bool = False
    """Whether a merge has sent it from another partition."""

    @property
    def is_change(self) -> bool:
        """Whether it changes what other events have left."""
        return self.kind >= DELETE_RATING


Record = tuple[int, int, float, int]
"""sequence, item, value and time."""


def events_of(packed: bytes) -> list[Logged]:
    """Return the events of an entry."""
    entry = decode(packed)
    starts = range(0, len(entry.digests), DIGEST_BYTES)
    id_bytes = DIGEST_BYTES - PRODUCER_BYTES
    digests = iter(entry.digests[at : at + id_bytes] for at in starts)
    columns = (entry.kind, entry.user_ix, entry.item, entry.value, entry.time_ms, entry.flags)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [
        Logged(
            kind,
            entry.users[user],
            item,
            value,
            time_ms,
            next(digests) if flags & HAS_DIGEST else b"",
            entry.users[item] if kind == MERGE_USER else "",
            bool(flags & MOVED),
        )
        for kind, user, item, value, time_ms, flags in rows
    ]


class Model:
    """What must be known after the events of a log, taken in their order, each id once."""

    def __init__(self, log: Iterable[Logged] = (), dead: Container[int] = ()) -> None:
        """``dead``: numbers of the events that were set aside because they could not be read."""
        self.sequence, self._dead = 0, dead
        self.histories: dict[str, list[Record]] = {}
        """Of the users that have events."""
        self.rated = Counter[str]()
        """Number of ratings that the row of a user has learned; a deleted rating stays in it."""
        self.users: set[str] = set()
        """The users that are listed: also those whose ratings were deleted one by one."""
        self.happened = Counter[str]()
        """What became of events."""
        self.moved: list[tuple[str, Record]] = []
        """What was sent to another partition, and from whom."""
        self._deleted: set[str] = set()
        self._ids: set[bytes] = set()
        for event in log:
            self.learn(event)

    def learn(self, event: Logged) -> None:
        """Take the next event."""
        self.sequence += 1
        if self.sequence in self._dead:
            self.happened["dead_letters"] += 1
            return
        if event.kind == DELETE_RATING:
            self._delete_rating(event)
        elif event.kind == DELETE_USER:
            self._delete_user(event.user)
        elif event.kind == MERGE_USER:
            self._merge(event.user, event.target)
        elif event.kind == MOVE_USER:
            self._move(event.user, through=event.time_ms)
        elif event.event_id in self._ids:
            self.happened["repeats_dropped"] += 1
        else:
            self._rate(event)
        self._ids |= {event.event_id} - {b""}

    def items(self, user: str) -> set[int]:
        """Return the items in a user's history."""
        return {item for _, item, _, _ in self.histories.get(user, ())}

    def _rate(self, event: Logged) -> None:
        record = (self.sequence, event.item, event.value, event.time_ms)
        self.histories.setdefault(event.user, []).append(record)
        self.rated[event.user] += 1
        self.users.add(event.user)
        self.happened["learned"] += 1
        self.happened["began_anew"] += event.user in self._deleted
        self._deleted.discard(event.user)

    def _delete_rating(self, event: Logged) -> None:
        before = self.histories.pop(event.user, [])
        left = [record for record in before if record[1] != event.item]
        if left:
            self.histories[event.user] = left
        self.happened["deletions"] += 1
        self.happened["rating_deleted"] += len(left) < len(before)

    def _delete_user(self, user: str) -> None:
        self.rated.pop(user, None)
        self.users.discard(user)
        self.happened["deletions"] += 1
        if self.histories.pop(user, None) is not None:
            self.happened["user_deleted"] += 1
            self._deleted.add(user)

    def _move(self, user: str, *, through: int) -> None:
        before = self.histories.pop(user, [])
        gone = [record for record in before if record[0] <= through]
        self.moved += [(user, record) for record in gone]
        self.happened["moves"] += 1
        self.happened["moved"] += bool(gone)
        if len(gone) < len(before):
            self.histories[user] = before[len(gone) :]
            self.happened["moved_in_part"] += 1
            return
        self.rated.pop(user, None)
        self.users.discard(user)
        if gone:
            self._deleted.add(user)

    def _merge(self, source: str, target: str) -> None:
        theirs, own = self.histories.pop(source, []), self.histories.pop(target, [])
        joined = _without_overruled(own, theirs)
        if joined:
            self.histories[target] = joined
            self.users.add(target)
        self.users.discard(source)
        of_source = self.rated.pop(source, 0)
        self.rated[target] = max(self.rated[target], of_source)
        self.happened["moves"] += 1
        self.happened["merged"] += bool(theirs)
        self.happened["overruled"] += len(joined) < len(own) + len(theirs)
        if theirs:
            self._deleted.add(source)


def _without_overruled(own: list[Record], theirs: list[Record]) -> list[Record]:
    """Return two histories as one, in the order of learning.

    Of an item that both have rated, the last rating by its own time ends the ratings.
    """
    last_of_own, last_of_theirs = _last(own), _last(theirs)
    ends = {
        item: max(one, last_of_theirs[item], key=lambda record: record[3])[0]
        for item, one in last_of_own.items()
        if item in last_of_theirs
    }
    joined = sorted([*own, *theirs])
    return [record for record in joined if record[0] <= ends.get(record[1], record[0])]


def _last(records: list[Record]) -> dict[int, Record]:
    """Return the last record of each item."""
    return {record[1]: record for record in records}
