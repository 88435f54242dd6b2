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
"""Shortest time, however much they moved, and longest time without an item that is new or opens."""
GROWTH = 0.05
"""Share of new events, among all that were counted, that makes a list anew."""

_NUMBERS = count(-1, -1)


class Basis(Struct, frozen=True):
    """What the lists of a lineup are made of."""

    number: int
    """Another one for each lineup."""
    models: str
    """Changes with the models that rank, and when a stack comes or goes."""
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
    newcomers: str | None = None
    """Version of the new items that are ranked as their look-alikes are; None: none are ranked."""
    reopened: int | None = None
    """As in the pool that it was chosen from."""
    patience: float = 0.0
    """Share of the bounds that it may use, 0 to 1; 0: it stands until anything changes.

    Lists have different ones, so that they are not all made again at the same moment."""
    by: tuple[Strategy, str] | None = None
    """The single ranker that a request named and the version of what it ranks by; None: others."""

    def stands(self, now: Basis, newcomers: str, reopened: int | None, time_ms: int) -> bool:
        """Whether the list may be shown again at a later moment, with these new items."""
        before = self.basis
        if now.models != before.models:
            return False
        same_items = self.newcomers in {None, newcomers} and reopened == self.reopened
        if self.is_young(time_ms) or (now.number == before.number and same_items):
            return True
        grown = now.n_events - before.n_events
        hardly = 0 <= grown <= self.patience * GROWTH * before.n_events
        same_items = same_items and now.later == before.later
        return same_items and hardly and self._is_within(LONGEST_S, time_ms)

    def is_young(self, time_ms: int) -> bool:
        """Whether it was made so shortly ago that it stands whatever moves, models aside.

        However often items open, close or are added, a list is not made more often.
        """
        return self._is_within(SHORTEST_S, time_ms)

    def _is_within(self, bound_s: float, time_ms: int) -> bool:
        return 0.0 <= (time_ms - self.time_ms) / 1_000 < self.patience * bound_s

    def waiting(self, items: I32) -> "Made":
        """Return it with a patience between a half and one, which the items of the list decide."""
        return replace(self, patience=0.5 + 0.5 * zlib.crc32(items.tobytes()) / (1 << 32))
