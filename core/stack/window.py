"""The latest judged events, as many as fit into a given amount of memory."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from operator import itemgetter

import numpy as np

from core.stack.choices import Choice
from core.stack.logit import SHORT
from core.types import F32, I64

OF_SHORT = 0.25
"""Share of the memory for events after short histories. They follow laws of their own, and are rare
where most users have been known for long."""
OF_EACH = 1_300
"""Approximate bytes of an event besides its signals: where lists are short, they are most of it."""


@dataclass(frozen=True, eq=False)
class Judged:
    """An event with its candidates, and the gain of each arm in it."""

    choice: Choice
    gains: Mapping[str, float]
    """Reciprocal rank by the arms that had a list."""

    @property
    def n_bytes(self) -> int:
        """Return its approximate memory in bytes."""
        return OF_EACH + self.choice.signals.nbytes


@dataclass
class _Room:
    """The latest events of one kind, with their numbers."""

    most_bytes: float
    events: deque[tuple[int, Judged]] = field(default_factory=deque)
    n_bytes: int = 0

    def add(self, number: int, judged: Judged) -> None:
        """Add an event, and forget the oldest ones if there is no room for it."""
        self.events.append((number, judged))
        self.n_bytes += judged.n_bytes
        while self.n_bytes > self.most_bytes:
            _, oldest = self.events.popleft()
            self.n_bytes -= oldest.n_bytes


class Window:
    """Events whose item was among the candidates, all with the same signals."""

    def __init__(self, most_bytes: int) -> None:
        self._rooms = {
            short: _Room(most_bytes * (OF_SHORT if short else 1.0 - OF_SHORT))
            for short in (True, False)
        }
        self.names: tuple[str, ...] = ()
        self.n_seen = 0
        """Number of events so far; those that were forgotten count too."""

    def __len__(self) -> int:
        return sum(len(room.events) for room in self._rooms.values())

    def __iter__(self) -> Iterator[Judged]:
        """Yield the events in the order in which they came."""
        ordered = merge(*(room.events for room in self._rooms.values()), key=itemgetter(0))
        return (judged for _, judged in ordered)

    def add(self, judged: Judged, names: Sequence[str]) -> None:
        """Add an event; all others get its signals: 0 for each item where they lack one."""
        if tuple(names) != self.names:
            self._rename(tuple(names))
        self.n_seen += 1
        self._rooms[judged.choice.length < SHORT].add(self.n_seen, judged)

    def _rename(self, names: tuple[str, ...]) -> None:
        column = {name: at for at, name in enumerate(self.names)}
        at = np.array([column.get(name, -1) for name in names], np.int64)
        self.names = names
        for room in self._rooms.values():
            events, room.events, room.n_bytes = room.events, deque(), 0
            for number, event in events:
                choice = event.choice._replace(signals=_columns(event.choice.signals, at))
                room.add(number, Judged(choice, event.gains))


def _columns(signals: F32, at: I64) -> F32:
    found = np.zeros((len(signals), at.size), np.float32)
    found[:, at >= 0] = signals[:, at[at >= 0]]
    return found
