"""The parameters of a slate: number of items, ranker, variety, explanations."""

from msgspec import Struct

from service.ranking.strategies import Strategy

DEEP = 5
"""Ranked items for each item of an answer that is chosen for variety."""
SHALLOWEST, DEEPEST = 200, 2_000
"""Fewest ranked items to choose from; most, when full categories leave room in the answer."""
USUAL_WIDTH = 64
"""Assumed number of factors of a model, for estimates of effort."""


class Wanted(Struct, frozen=True):
    """The parameters of a slate."""

    k: int
    offset: int = 0
    model: Strategy | None = None
    blend: float = 0.0
    diversity: float = 0.0
    max_per_category: int | None = None
    explain: bool = False
    assigned: bool = False
    """Whether an experiment chose these parameters: new items get places as without it."""
    resumed: Strategy | None = None
    """Strategy of the earlier pages: it continues, although the request did not name it."""

    @property
    def n(self) -> int:
        """Return the number of items of the slate, with those that are skipped."""
        return self.offset + self.k

    @property
    def varied(self) -> bool:
        """Whether the answer is chosen for variety from more items than it has."""
        return self.diversity > 0.0 or self.max_per_category is not None

    @property
    def plain(self) -> bool:
        """Whether it wants a list and nothing more."""
        return not (self.varied or self.blend or self.explain or self.resumed)

    @property
    def n_ranked(self) -> int:
        """Return the number of items to rank: more than ``n`` if the answer is varied."""
        return max(DEEP * self.n, SHALLOWEST) if self.varied else self.n

    def effort(self, n_preferences: int) -> int:
        """Return the approximate number of multiplications for variety and explanations."""
        variety = self.n * self.n_ranked if self.varied else 0
        return USUAL_WIDTH * (variety + (self.k * n_preferences if self.explain else 0))
