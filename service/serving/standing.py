"""What a finished answer stands on, beside the history of its user."""

from typing import Protocol

from msgspec import Struct

from service.ranking.keeping import Made
from service.ranking.lineup import Lineup
from service.ranking.slates.exploration import Exploration, NewItems

ALWAYS = 1 << 62
"""A time that does not come, in ms."""


class Standing(Struct, frozen=True, eq=False):
    """The causes that end an answer."""

    made: Made
    edition: int
    """Of the items that are shown."""
    explores: bool = False
    """Whether there were new items."""
    explored: NewItems | None = None
    """The new items, if some of them are in the list or would be."""
    until_ms: int = ALWAYS
    """When new items get other places."""

    @classmethod
    def of(cls, made: Made, edition: int, new: Exploration | None, *, placed: bool) -> "Standing":
        """Return what an answer stands on; ``placed``: new items have places in it."""
        if new is None:
            return cls(made, edition)
        return cls(made, edition, True, new.new if placed else None, new.until_ms)

    def holds(self, lineup: Lineup, edition: int, new: NewItems, time_ms: int) -> bool:
        """Whether the same request would get the same list."""
        if edition != self.edition or time_ms >= self.until_ms:
            return False
        if self.explores != bool(new.items.size) or self.explored not in (None, new):
            return False
        if self.made.by is not None:
            ranker = lineup.models.get(self.made.by[0])
            return ranker is not None and ranker.made_of == self.made.by[1]
        return self.made.stands(lineup.basis, new.coming.version, time_ms)


class Body(Protocol):
    """A finished answer as it is sent."""

    @property
    def nbytes(self) -> int: ...

    def again(self, time_ms: int, seen_through: str) -> bytes:
        """Return the answer as of now."""


class KeptAnswer(Struct, frozen=True, eq=False):
    """A finished answer of a user."""

    body: Body
    standing: Standing
