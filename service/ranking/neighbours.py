"""Rank by neighbours of items: the items of a history suggest others."""

from collections.abc import Mapping

import numpy as np

from core.batch.neighbours.model import Neighbours
from core.batch.neighbours.snapshot import neighbours_of
from core.slate import Explanation
from core.types import F32, I32
from service.ranking.asker import Asker
from service.ranking.family import Family, Published
from service.ranking.pool import Pool, Ranked, chosen
from service.ranking.ranker import ScoreRanker

USUAL_HISTORY = 100
"""Assumed number of items in a history, for estimates of effort."""


class ByNeighbours(ScoreRanker):
    """Adds the neighbours of all items of a history up."""

    def __init__(
        self, family: Family, version: str, model: Neighbours, trained_through: Mapping[int, int]
    ) -> None:
        super().__init__(family, version, trained_through)
        self.model = model
        self.n_items = model.n_items
        self.effort = USUAL_HISTORY * model.neighbour.shape[1]

    def knows(self, asker: Asker) -> bool:
        return self.model.knows(asker.preferences.item_ix, asker.preferences.target)

    def new_scores(self, asker: Asker) -> F32:
        past = asker.preferences.within(self.n_items)
        return self.model.scores(past.item_ix, past.weight, past.target)

    def explain(self, asker: Asker, items: I32) -> Explanation | None:
        past = asker.preferences.within(self.n_items)
        found = self.model.contributions(past.item_ix, past.weight, past.target, items)
        return Explanation(found, np.zeros(items.size))

    def has(self, item: int) -> bool:
        return item < self.n_items and bool(self.model.learned[item])

    def similar(self, item: int, pool: Pool, n: int) -> Ranked:
        """Return the items that a learned item suggests most strongly."""
        return chosen(self.model.similar(item), pool, n)

    def warm(self) -> None:
        self.model.scores(np.empty(0, np.int32))
        # found here, because it reads the whole model once
        self.model.knows(np.empty(0, np.int32))


def read_neighbours(family: Family, model: Published) -> ByNeighbours:
    """Return the ranker of a published model."""
    return ByNeighbours(family, model.version, neighbours_of(model.snapshot), model.trained_through)
