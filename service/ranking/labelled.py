"""Items as labels of users: ranks for people of whom only features are known, and knows which items go together."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.features import FeatureEncoder
from core.labels.items import LabelledItems
from core.types import F32
from service.ranking.rankers import Asker, Pool, Ranked, Trained, chosen


class Labelled(Trained):
    """A label model. What it makes of a user's features is the scores of all items."""

    knows_features = True

    def __init__(
        self,
        version: str,
        model: LabelledItems,
        trained_through: Mapping[int, int],
        users: FeatureEncoder,
        items: FeatureEncoder,
    ) -> None:
        super().__init__("exmlds", version, trained_through, model.item_places)
        self.model, self.users, self.items = model, users, items
        self.features = users.features
        self.effort += model.space.points.size

    def knows(self, asker: Asker) -> bool:
        return self.version in asker.described

    def part(self, asker: Asker) -> float:
        """Features count as one event: the longer the history, the more those who read it take over."""
        return 1.0 / (1.0 + asker.preferences.item_ix.size)

    def describe(self, features: Mapping[str, Any]) -> F32 | None:
        row = self.users.transform([features])
        return self.model.scores(row)[0] if row.nnz else None

    def best(self, asker: Asker, pool: Pool, n: int) -> Ranked:
        return chosen(self.scores(asker), pool, n)

    def scores(self, asker: Asker) -> F32:
        nothing = np.full(self.n_items, -np.inf, np.float32)
        return asker.described.get(self.version, nothing)
