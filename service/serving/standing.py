"""What a finished answer stands on, beside the history of its user."""

from typing import Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from core.types import I32
from service.ranking.keeping import Made
from service.ranking.lineup import Lineup
from service.ranking.pool import all_among
from service.ranking.slates.exploration import Exploration, NewItems
from service.ranking.slates.slate import Slate
from service.store.catalogue.columns import Shown

ALWAYS = 1 << 62
"""A time that does not come, in ms."""


class Standing(Struct, frozen=True, eq=False):
    """The causes that end an answer."""

    made: Made
    items: I32
    """The items of the answer."""
    n_items: int
    """A mask of so many items tells of all of them whether they may be shown."""
    edition: int
    """Of the items that could be shown."""
    explores: bool = False
    """Whether there were new items."""
    explored: NewItems | None = None
    """The new items, if some of them are in the list or would be."""
    until_ms: int = ALWAYS
    """When new items get other places."""

    @classmethod
    def of(
        cls, slate: Slate, edition: int, new: Exploration | None, *, placed: bool
    ) -> "Standing | None":
        """Return what an answer stands on; ``placed``: new items have places in it.

        None: it may not be given again.
        """
        if slate.kept is None:
            return None
        items = np.array([pick.item for pick in slate.picks], np.int32)
        made = cls(slate.kept, items, int(items.max(initial=-1)) + 1, edition)
        if new is None:
            return made
        explored = new.new if placed else None
        return replace(made, explores=True, explored=explored, until_ms=new.until_ms)

    def holds(self, lineup: Lineup, shown: Shown, new: NewItems, time_ms: int) -> bool:
        """Whether the same request would get the same list, or one that soon may follow."""
        if time_ms >= self.until_ms:
            return False
        if shown.edition != self.edition and not all_among(self.items, shown.mask):
            return False
        if self.explores != bool(new.items.size) or self.explored not in (None, new):
            return False
        if self.made.by is not None:
            ranker = lineup.models.get(self.made.by[0])
            same = ranker is not None and ranker.made_of == self.made.by[1]
            return same and shown.reopened == self.made.reopened
        return self.made.stands(lineup.basis, new.coming.version, shown.reopened, time_ms)


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
