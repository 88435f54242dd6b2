"""Rank by context: what is liked where the list is shown, and more than elsewhere."""

from collections.abc import Mapping

import numpy as np

from core.batch.here.model import Here
from core.batch.here.snapshot import here_of
from core.types import F32, I32
from service.ranking.asker import Asker
from service.ranking.family import Family, Published
from service.ranking.pool import Pool, Ranked, chosen, first
from service.ranking.ranker import Listed, Ranker

MOST_ORDERS = 64
"""Most contexts whose order of all items is kept."""


class ByContext(Ranker):
    """Ranks by the share of each item in all that was liked in the context of the request.

    In a stack only the lift counts: how popular an item is, others say there, also where no context
    is known.
    """

    signals = ("log lift",)

    def __init__(
        self, family: Family, version: str, model: Here, trained_through: Mapping[int, int]
    ) -> None:
        super().__init__(family, version, trained_through)
        self.model = model
        self.n_items, self.effort = model.n_items, model.n_items
        self._orders: dict[tuple[int, ...], Ranked] = {}

    def knows(self, asker: Asker) -> bool:
        return bool(asker.context) and bool(self.model.known(asker.context))

    def best(self, asker: Asker, pool: Pool, n: int) -> Listed:
        if pool.candidates is not None:
            return Listed(*chosen(self.scores(asker), pool, n))
        return Listed(*first(self._order(asker), pool, n))

    def scores(self, asker: Asker) -> F32:
        return self.model.scores(self.model.known(asker.context))

    def signals_of(self, asker: Asker, items: I32) -> F32:
        return self.model.lifts(self.model.known(asker.context), items)[:, None]

    def warm(self) -> None:
        # found here, because it reads the whole model once
        self.model.scores(range(len(self.model.said)))

    def _order(self, asker: Asker) -> Ranked:
        """Return all items that somebody liked, best first."""
        known = self.model.known(asker.context)
        order = self._orders.get(known)
        if order is None:
            scores = self.model.scores(known)
            items = np.argsort(-scores, kind="stable").astype(np.int32)
            items = items[: np.count_nonzero(np.isfinite(scores))]
            order = items, scores[items]
            if len(self._orders) < MOST_ORDERS:
                # kept: it is the same for everybody in this context
                self._orders[known] = order
        return order


def read_here(family: Family, model: Published) -> ByContext:
    """Return the ranker of a published model."""
    return ByContext(family, model.version, here_of(model.snapshot), model.trained_through)
