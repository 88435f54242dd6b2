"""What clients sent and what they were told, in plain dictionaries: the model of the service.

An event that was acknowledged counts exactly once, one in doubt at most once, nothing else at all.
"""

import random
from collections import Counter
from dataclasses import dataclass, field

import msgspec

from service.api.feedback.intake import Accepted
from service.api.feedback.schemas import Feedback

START_MS = 1_763_000_000_000
USERS, ITEMS = 8, 12
MOST_ROWS = 4


class Broken(AssertionError):
    """A promise of the service was broken."""


@dataclass
class Event:
    """A rating; its time, which no other has, is how it is found again."""

    user: str
    item: str
    rating: float
    time_ms: int
    sequence: int | None = None
    """Where the log has it, as the client was told; None while it is in doubt."""
    was_repeated: bool = False

    def feedback(self) -> Feedback:
        row = {
            "user": self.user,
            "item": self.item,
            "rating": self.rating,
            "timestamp": self.time_ms,
        }
        return msgspec.convert(row, Feedback)


@dataclass
class Request:
    """Events that are sent together, again and again if they have a key."""

    events: list[Event]
    key: str | None

    def feedback(self) -> list[Feedback]:
        return [event.feedback() for event in self.events]

    def note(self, index: int, sequence: int) -> None:
        self.events[index].sequence = sequence

    def note_accepted(self, accepted: Accepted) -> None:
        for partition, indexes in accepted.indexes.items():
            first = accepted.sequences[partition] - len(indexes) + 1
            for offset, index in enumerate(indexes):
                self.note(index, first + offset)


@dataclass
class Ledger:
    """All requests of all clients."""

    rng: random.Random
    events: list[Event] = field(default_factory=list)
    again: list[Request] = field(default_factory=list)
    """Requests in doubt that will be sent again."""
    under_way: int = 0
    is_closed: bool = False
    """Whether clients send nothing new."""

    @property
    def is_settled(self) -> bool:
        return self.is_closed and not self.unanswered

    @property
    def unanswered(self) -> int:
        """Number of requests that wait for an answer, or to be sent again."""
        return len(self.again) + self.under_way

    def take(self) -> Request | None:
        """Return what a client sends next."""
        if self.again and (self.is_closed or self.rng.random() < 0.5):
            request = self.again.pop(self.rng.randrange(len(self.again)))
            for event in request.events:
                event.was_repeated = True
        elif self.is_closed:
            return None
        else:
            request = self._new()
        self.under_way += 1
        return request

    def acknowledged(self, occurred: Counter[str], request: Request) -> None:
        self.under_way -= 1
        occurred["acknowledged"] += len(request.events)
        occurred["acknowledged_again"] += request.events[0].was_repeated

    def in_doubt(self, occurred: Counter[str], request: Request) -> None:
        self.under_way -= 1
        occurred["in_doubt"] += 1
        if request.key is not None:
            self.again.append(request)

    def _new(self) -> Request:
        key = f"k{len(self.events)}" if self.rng.random() < 0.7 else None
        events = [self._event(n) for n in range(self.rng.choice((1, 1, MOST_ROWS)))]
        self.events += events
        return Request(events, key)

    def _event(self, n: int) -> Event:
        user, item = f"u{self.rng.randrange(USERS)}", f"i{self.rng.randrange(ITEMS)}"
        rating = float(self.rng.randint(1, 5))
        return Event(user, item, rating, START_MS + 1_000 * (len(self.events) + n))


Stored = tuple[str, str, float, int]
"""user, item, rating, and sequence of a record."""


def check_histories(ledger: Ledger, stored: dict[int, list[Stored]]) -> None:
    """Compare the ledger with all records of all histories, by their times."""
    sent = {event.time_ms: event for event in ledger.events}
    for time_ms, records in stored.items():
        event = sent.get(time_ms)
        if event is None:
            raise Broken(f"a record that nobody sent: {records}")
        if len(records) > 1:
            raise Broken(f"{event} counts {len(records)} times: {records}")
        [(user, item, rating, sequence)] = records
        if (user, item, rating) != (event.user, event.item, event.rating):
            raise Broken(f"{event} is stored as {records}")
        if event.sequence is not None and not event.was_repeated and sequence != event.sequence:
            raise Broken(f"{event} is stored as number {sequence}")
        if event.sequence is not None and sequence > event.sequence:
            raise Broken(f"{event} is stored as number {sequence}, after it was acknowledged")
    for event in ledger.events:
        if event.sequence is not None and event.time_ms not in stored:
            raise Broken(f"{event} was acknowledged and is lost")
