"""Rank by context: what is liked where the list is shown, and more than elsewhere."""

from collections.abc import Mapping
from functools import lru_cache, partial

import numpy as np

from core.batch.here.model import Here
from core.batch.here.snapshot import here_of
from core.types import F32, I32
from service.ranking.asker import Asker
from service.ranking.family import Family, Published
from service.ranking.pool import Head, Pool, chosen
from service.ranking.ranker import Listed, Ranker

HEAD, HEADS = 1_000, 1_000
"""Length of a kept head, in items of 8 bytes; most contexts whose heads are kept: 8 MB together."""


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
        self.top = lru_cache(HEADS)(partial(_head_of, model, version))
        """The best items of a context, the same for everybody."""

    def knows(self, asker: Asker) -> bool:
        return bool(asker.context) and bool(self.model.known(asker.context))

    def place(self, asker: Asker) -> str:
        return ",".join(map(str, self.model.known(asker.context)))

    def best(self, asker: Asker, pool: Pool, n: int) -> Listed:
        if pool.candidates is None:
            found = self.top(self.model.known(asker.context)).best(pool, n)
            if found is not None:
                return Listed(*found)
        return Listed(*chosen(self.scores(asker), pool, n))

    def scores(self, asker: Asker) -> F32:
        return self.model.scores(self.model.known(asker.context))

    def signals_of(self, asker: Asker, items: I32) -> F32:
        return self.model.lifts(self.model.known(asker.context), items)[:, None]

    def warm(self) -> None:
        # found here, because it reads the whole model once
        self.model.scores(range(len(self.model.said)))


def _head_of(model: Here, version: str, known: tuple[int, ...]) -> Head:
    """Return the best of all items that somebody liked."""
    everything = Pool(np.ones(model.n_items, np.bool_))
    items, scores = chosen(model.scores(known), everything, HEAD)
    return Head(version, items, scores, whole=items.size < HEAD)


def read_here(family: Family, model: Published) -> ByContext:
    """Return the ranker of a published model."""
    return ByContext(family, model.version, here_of(model.snapshot), model.trained_through)
