"""For how long a list is shown again, while what it was made of moves on.

A list is right as long as nothing of that changed. It never outlives the history and the models.
Counts and weights move with every event of anybody, but hardly change one list: it is made again
when they have grown by a share, or after some minutes. An item that nobody has taken yet gets its
first showings by exploration meanwhile.
"""

import zlib
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from core.types import I32
from service.ranking.strategies import Strategy

LONGEST_S = 300.0
"""Longest time for which a list is shown again although counts and weights have moved."""
SHORTEST_S = 30.0
"""Shortest time, however much they moved, and longest time without an item that is new."""
GROWTH = 0.05
"""Share of new events, among all that were counted, that makes a list anew."""

_NUMBERS = count(-1, -1)


class Basis(Struct, frozen=True):
    """What the lists of a lineup are made of."""

    number: int
    """Another one for each lineup."""
    models: str
    """Changes with the models that rank."""
    later: int = 0
    """Changes with the documents of items that came after the training."""
    n_events: int = 0
    """Number of events that the counts are made of."""

    @classmethod
    def alone(cls) -> "Basis":
        """Return the basis of a lineup that shares no list with another one."""
        number = next(_NUMBERS)
        return cls(number, f"lineup {number}")


class Made(Struct, frozen=True):
    """What a list was made of, and when."""

    basis: Basis
    time_ms: int
    newcomers: str = ""
    """Version of the new items that are ranked as their look-alikes are."""
    patience: float = 0.0
    """Share of the bounds that it may use, 0 to 1; 0: it stands until anything changes.

    Lists have different ones, so that they are not all made again at the same moment."""
    by: tuple[Strategy, str] | None = None
    """The single ranker that a request named and the version of what it ranks by; None: others."""

    def stands(self, now: Basis, newcomers: str, time_ms: int) -> bool:
        """Whether the list may be shown again at a later moment."""
        before, age_s = self.basis, (time_ms - self.time_ms) / 1_000
        if now.models != before.models:
            return False
        if now.number == before.number and newcomers == self.newcomers:
            return True
        if 0.0 <= age_s < self.patience * SHORTEST_S:
            return True
        same_items = now.later == before.later and newcomers == self.newcomers
        grown = now.n_events - before.n_events
        hardly = 0 <= grown <= self.patience * GROWTH * before.n_events
        return same_items and hardly and 0.0 <= age_s < self.patience * LONGEST_S

    def waiting(self, items: I32) -> "Made":
        """Return it with a patience between a half and one, which the items of the list decide."""
        return replace(self, patience=0.5 + 0.5 * zlib.crc32(items.tobytes()) / (1 << 32))
