"""What clients sent and what they were told."""

import random
from collections import Counter
from dataclasses import dataclass, field

import msgspec

from service.api.feedback.intake import Accepted
from service.api.feedback.schemas import Feedback
from service.store.log.codec import DELETE_RATING, DELETE_USER, MERGE_USER, MOVE_USER
from tests.simulator.clock import START_MS
from tests.simulator.model import Logged

FIRST_EVENT_MS = START_MS - 400 * 86_400_000
"""Events are older than the run: a change, which the clock stamps, never has the time of one."""
USERS, ITEMS = 8, 40
MOST_ROWS = 4
CHANGES = 0.15
"""Share of requests that change what was sent before."""


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

    def is_in(self, logged: Logged) -> bool:
        """Whether an entry of the log is this event."""
        return logged.time_ms == self.time_ms and not logged.is_copy


@dataclass(eq=False)
class Request:
    """Events that are sent together, again and again if they have a key."""

    events: list[Event]
    key: str | None
    tries: int = 0

    def feedback(self) -> list[Feedback]:
        return [event.feedback() for event in self.events]


@dataclass(frozen=True)
class Change:
    """A deletion or a merge.

    Clients send it until they have an answer: it may be in the log several times.
    """

    kind: int
    user: str
    """Who is deleted, whose rating is, or whose events are moved."""
    item: str = ""
    """The item of a deleted rating."""
    target: str = ""
    """The user that a merge moves the events to."""

    def is_in(self, logged: Logged) -> bool:
        """Whether an entry of the log is this change; ``Observer`` checks the item."""
        if logged.kind == MOVE_USER:
            return (self.kind, self.user) == (MERGE_USER, logged.user)
        return (logged.kind, logged.user, logged.target) == (self.kind, self.user, self.target)


@dataclass
class Ledger:
    """All requests of all clients."""

    rng: random.Random
    occurred: Counter[str]
    events: dict[int, Event] = field(default_factory=dict)
    """By their times."""
    changes: Counter[Change] = field(default_factory=Counter)
    """How often each was sent."""
    told: list[tuple[Event | Change, int]] = field(default_factory=list)
    """What a client was just told to be in the log, and as which number."""
    repeats: list[tuple[Event, int]] = field(default_factory=list)
    """What a client was just told to have come before, and as which number it came again."""
    is_closed: bool = False
    """Whether clients send nothing new."""
    _again: list[Request | Change] = field(default_factory=list)
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

    def take(self) -> Request | Change | None:
        """Return what a client sends next."""
        if self._again and (self.is_closed or self.rng.random() < 0.5):
            request = self._again.pop(self.rng.randrange(len(self._again)))
        elif self.is_closed:
            return None
        else:
            request = self._change() if self.rng.random() < CHANGES else self._new()
        if isinstance(request, Request):
            request.tries += 1
        else:
            self.changes[request] += 1
        self._under_way += 1
        return request

    def acknowledged(self, request: Request, sequences: dict[int, int], repeats: list[int]) -> None:
        """Note the answer to a request: index and number of each event; which are repeats."""
        self._under_way -= 1
        self.told += [(request.events[index], sequences[index]) for index in sequences]
        self.occurred["acknowledged"] += len(sequences)
        self.occurred["acknowledged_again"] += request.tries > 1
        self.repeats += [(request.events[index], sequences[index]) for index in repeats]
        if request.key is not None:
            self._answered.append(request)

    def carried_out(self, change: Change, sequence: int) -> None:
        """Note the answer to a change: its number in the log; 0 if there was nothing to change."""
        self._under_way -= 1
        if sequence:
            self.told.append((change, sequence))
            self.occurred["changed"] += 1

    def in_doubt(self, request: Request | Change) -> None:
        """Note that a request has got no answer."""
        self._under_way -= 1
        is_change = isinstance(request, Change)
        self.occurred["change_in_doubt" if is_change else "in_doubt"] += 1
        if isinstance(request, Change) or request.key is not None:
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
            user, item = self._user(), self._item()
            time_ms = FIRST_EVENT_MS + 1_000 * len(self.events)
            event = Event(user, item, float(self.rng.randint(1, 5)), time_ms, key is not None)
            self.events[time_ms] = event
            events.append(event)
        return Request(events, key)

    def _change(self) -> Change:
        kind = self.rng.choice((DELETE_RATING, DELETE_USER, MERGE_USER))
        if kind == DELETE_USER:
            return Change(kind, self._user())
        if kind == MERGE_USER:
            source, target = self.rng.sample(range(USERS), 2)
            return Change(kind, f"u{source}", target=f"u{target}")
        # mostly something that was rated: else there is nothing to delete
        rated = self.rng.choice([*self.events.values()]) if self.events else None
        if rated is None:
            return Change(kind, self._user(), self._item())
        return Change(kind, rated.user, rated.item)

    def _user(self) -> str:
        return f"u{self.rng.randrange(USERS)}"

    def _item(self) -> str:
        return f"i{self.rng.randrange(ITEMS)}"


def numbers_of(accepted: Accepted) -> dict[int, int]:
    """Return the number of each accepted event, by its index in the request."""
    return {
        index: accepted.sequences[partition] - len(indexes) + 1 + offset
        for partition, indexes in accepted.indexes.items()
        for offset, index in enumerate(indexes)
    }
