"""The ranker of the autoregression: what usually comes after the asker's latest items.

It needs no vector of the user: the order of the latest items decides, so a new event counts at
once, whether the user liked the item or not.
"""

from collections.abc import Mapping

import numpy as np

from core.batch.autoregression.model import Autoregression
from core.batch.autoregression.snapshot import autoregression_of
from core.slate import Explanation
from core.types import F32, I32
from service.ranking.asker import Asker
from service.ranking.family import Family, Published
from service.ranking.ranker import ScoreRanker


class Sequence(ScoreRanker):
    """Ranks by the latest items."""

    def __init__(
        self,
        family: Family,
        version: str,
        model: Autoregression,
        trained_through: Mapping[int, int],
    ) -> None:
        super().__init__(family, version, trained_through)
        self.model = model
        self.n_items = model.n_items
        self.effort = model.n_items * model.age_weight.size

    def knows(self, asker: Asker) -> bool:
        return self.model.knows(asker.preferences.latest)

    def new_scores(self, asker: Asker) -> F32:
        return self.model.scores(asker.preferences.latest)

    def warm(self) -> None:
        # the first call finds the learned items, which is slow in a large catalogue
        self.model.knows(np.zeros(1, np.int32))
        self.model.scores(np.empty(0, np.int32))

    def explain(self, asker: Asker, items: I32) -> Explanation | None:
        """Return the parts of the past; those of items that are not preferences are constant."""
        latest, parts = self.model.parts(asker.preferences.latest, items)
        past = asker.preferences.within(self.n_items).item_ix
        contribution = np.zeros((items.size, past.size))
        at = np.searchsorted(past, latest)
        liked = (at < past.size) & (past[np.minimum(at, past.size - 1)] == latest)
        contribution[:, at[liked]] = parts[liked].T
        return Explanation(contribution, parts[~liked].sum(axis=0, dtype=np.float64))


def read_sequence(family: Family, model: Published) -> Sequence:
    """Return the ranker of a published model."""
    return Sequence(family, model.version, autoregression_of(model.snapshot), model.trained_through)
