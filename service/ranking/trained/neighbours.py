"""Rank by neighbours of items: the items of a history suggest others."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.batch.neighbours.joining import columns
from core.batch.neighbours.model import Neighbours
from core.batch.neighbours.snapshot import neighbours_of
from core.batch.preferences import Preferences
from core.batch.takers import Takers
from core.kernels.scan import Mask
from core.slate import Explanation
from core.types import F32, I32, I64
from service.ranking.asker import Asker
from service.ranking.family import Family, Published
from service.ranking.pool import Pool, Ranked, chosen
from service.ranking.ranker import Ranker, ScoreRanker

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
        past = self.past(asker)
        return self.model.scores(past.item_ix, past.weight, past.target)

    def past(self, asker: Asker) -> Preferences:
        """Return the preferences for the items of the training."""
        return asker.preferences.within(self.model.n_items)

    def explain(self, asker: Asker, items: I32) -> Explanation | None:
        past = self.past(asker)
        found = self.model.contributions(past.item_ix, past.weight, past.target, items)
        return Explanation(found, np.zeros(items.size))

    def has(self, item: int) -> bool:
        return item < self.model.n_items and bool(self.model.learned[item])

    def similar(self, item: int, pool: Pool, n: int) -> Ranked:
        """Return the items that a learned item suggests most strongly."""
        return chosen(self.model.similar(item), pool, n)

    @property
    def learned(self) -> Mask | None:
        return None if self.model.joining is None else self.model.joining.own > 0.0

    def folding_in(self, takers: Takers, placing: Ranker | None = None) -> "ByNeighbours":
        joining, learned = self.model.joining, self.learned
        if joining is None or learned is None:
            return self
        new = takers.pairs_but(learned)
        if not new.items.size:
            return self
        strengths = columns(self.model, joining, takers, new)
        return WithLaterItems(self, new.items, strengths, takers.version)

    def warm(self) -> None:
        self.model.scores(np.empty(0, np.int32))
        # found here, because it reads the whole model once
        self.model.knows(np.empty(0, np.int32))


class WithLaterItems(ByNeighbours):
    """A model that items have joined which it has not learned: events gave them strengths since."""

    def __init__(self, model: ByNeighbours, items: I32, strengths: Any, version: str) -> None:
        super().__init__(model.family, model.version, model.model, model.trained_through)
        self._later, self._strengths, self._by = items, strengths, version
        self.n_items = max(self.n_items, int(items[-1]) + 1)

    @property
    def made_of(self) -> str:
        return f"{self.version} with {self._by}"

    def new_scores(self, asker: Asker) -> F32:
        scores = np.full(self.n_items, -np.inf, np.float32)
        scores[: self.model.n_items] = super().new_scores(asker)
        _, at, spoken = self._spoken(self.past(asker))
        own = np.bincount(at, spoken, self._later.size).astype(np.float32)
        own[own == 0.0] = -np.inf
        scores[self._later] = own
        return scores

    def _spoken(self, past: Preferences) -> tuple[I64, I32, F32]:
        """Return which past item adds to which later item's score, and how much."""
        first = self._strengths.indptr[past.item_ix].astype(np.int64)
        n = self._strengths.indptr[past.item_ix + 1] - first
        at = np.repeat(first - np.cumsum(n) + n, n) + np.arange(n.sum())
        row = np.repeat(np.arange(n.size), n)
        amount = np.where(past.target > 0.0, past.weight, np.float32(0.0))
        return row, self._strengths.indices[at], amount[row] * self._strengths.data[at]

    def explain(self, asker: Asker, items: I32) -> Explanation | None:
        past = self.past(asker)
        # later items of the past count for nothing, but have their columns
        found = np.zeros((items.size, asker.preferences.within(self.n_items).item_ix.size))
        known, later = items < self.model.n_items, np.isin(items, self._later)
        own = past.item_ix, past.weight, past.target
        found[known, : past.item_ix.size] = self.model.contributions(*own, items[known])
        row, at, spoken = self._spoken(past)
        whole = np.zeros((self._later.size, found.shape[1]))
        whole[at, row] = spoken
        found[later] = whole[np.searchsorted(self._later, items[later])]
        return Explanation(found, np.zeros(items.size))


def read_neighbours(family: Family, model: Published) -> ByNeighbours:
    """Return the ranker of a published model."""
    return ByNeighbours(family, model.version, neighbours_of(model.snapshot), model.trained_through)
