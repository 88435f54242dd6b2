"""What clients sent and what they were told."""

import random
from collections import Counter
from dataclasses import dataclass, field

import msgspec

from service.api.feedback.intake import Accepted
from service.api.feedback.schemas import Feedback

START_MS = 1_763_000_000_000
USERS, ITEMS = 8, 40
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
    has_key: bool
    is_promised: bool = False
    """Whether it was acknowledged, and the store has not lost it since."""

    def feedback(self) -> Feedback:
        row = {
            "user": self.user,
            "item": self.item,
            "rating": self.rating,
            "timestamp": self.time_ms,
        }
        return msgspec.convert(row, Feedback)


@dataclass(eq=False)
class Request:
    """Events that are sent together, again and again if they have a key."""

    events: list[Event]
    key: str | None
    tries: int = 0

    def feedback(self) -> list[Feedback]:
        return [event.feedback() for event in self.events]


@dataclass
class Ledger:
    """All requests of all clients."""

    rng: random.Random
    occurred: Counter[str]
    events: dict[int, Event] = field(default_factory=dict)
    """By their times."""
    told: list[tuple[Event, int]] = field(default_factory=list)
    """Events that a client was just told to be in the log, and as which number."""
    is_closed: bool = False
    """Whether clients send nothing new."""
    _again: list[Request] = field(default_factory=list)
    _under_way: int = 0
    _answered: list[Request] = field(default_factory=list)

    @property
    def unanswered(self) -> int:
        """Number of requests that wait for an answer, or to be sent again."""
        return len(self._again) + self._under_way

    @property
    def is_settled(self) -> bool:
        """Whether every client has its answer, or has given up."""
        return self.is_closed and not self.unanswered

    def take(self) -> Request | None:
        """Return what a client sends next."""
        if self._again and (self.is_closed or self.rng.random() < 0.5):
            request = self._again.pop(self.rng.randrange(len(self._again)))
        elif self.is_closed:
            return None
        else:
            request = self._new()
        request.tries += 1
        self._under_way += 1
        return request

    def acknowledged(self, request: Request, sequences: dict[int, int]) -> None:
        """Note the answer to a request: index and number of each event."""
        self._under_way -= 1
        self.told += [(request.events[index], sequences[index]) for index in sequences]
        self.occurred["acknowledged"] += len(sequences)
        self.occurred["acknowledged_again"] += request.tries > 1
        if request.key is not None:
            self._answered.append(request)

    def in_doubt(self, request: Request) -> None:
        """Note that a request has got no answer."""
        self._under_way -= 1
        self.occurred["in_doubt"] += 1
        if request.key is not None:
            self._again.append(request)

    def lost(self, kept: set[int]) -> None:
        """Note that the store went back and has only the events of these times.

        Some clients send again what was lost, as far as they can do so safely.
        """
        for event in self.events.values():
            if event.is_promised and event.time_ms not in kept:
                event.is_promised = False
                self.occurred["acknowledged_and_lost"] += 1
        for request in self._answered[:]:
            is_lost = any(event.time_ms not in kept for event in request.events)
            if is_lost and self.rng.random() < 0.5:
                self._answered.remove(request)
                self._again.append(request)

    def _new(self) -> Request:
        key = f"k{len(self.events)}" if self.rng.random() < 0.7 else None
        events = []
        for _ in range(self.rng.choice((1, 1, MOST_ROWS))):
            user, item = f"u{self.rng.randrange(USERS)}", f"i{self.rng.randrange(ITEMS)}"
            time_ms = START_MS + 1_000 * len(self.events)
            event = Event(user, item, float(self.rng.randint(1, 5)), time_ms, key is not None)
            self.events[time_ms] = event
            events.append(event)
        return Request(events, key)


def numbers_of(accepted: Accepted) -> dict[int, int]:
    """Return the number of each accepted event, by its index in the request."""
    return {
        index: accepted.sequences[partition] - len(indexes) + 1 + offset
        for partition, indexes in accepted.indexes.items()
        for offset, index in enumerate(indexes)
    }
