"""What a slate should be: how many items, who ranks them, how varied, explained or not."""

from msgspec import Struct

from service.ranking.strategies import Strategy

DEEP = 5
"""Ranked items per item of the answer, if the answer is then chosen for variety."""
SHALLOWEST, DEEPEST = 200, 2_000
"""Fewest ranked items to choose from; most, if full categories leave room in the answer."""
USUAL_WIDTH = 64
"""Assumed number of factors of a model, to estimate effort."""


class Wanted(Struct, frozen=True):
    """How a slate is to be made."""

    k: int
    offset: int = 0
    model: Strategy | None = None
    blend: float = 0.0
    diversity: float = 0.0
    max_per_category: int | None = None
    explain: bool = False
    resumed: Strategy | None = None
    """The strategy of the pages before: it goes on, but is not what was asked for."""

    @property
    def n(self) -> int:
        """Return how many items are ranked."""
        return self.offset + self.k

    @property
    def varied(self) -> bool:
        """Whether the answer is chosen for variety from more items than it has."""
        return self.diversity > 0.0 or self.max_per_category is not None

    @property
    def n_ranked(self) -> int:
        """Return how many items are ranked to choose from."""
        return max(DEEP * self.n, SHALLOWEST) if self.varied else self.n

    def effort(self, n_own: int) -> int:
        """Return about how many multiplications variety and explanations take."""
        chosen = self.n * self.n_ranked if self.varied else 0
        return USUAL_WIDTH * (chosen + (self.k * n_own if self.explain else 0))
