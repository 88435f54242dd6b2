"""Items as labels of users: a ranker by features that also knows which items go together."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.batch.snapshot import encoders_of
from core.features import FeatureEncoder
from core.labels.labelled_items import ItemsAsLabels
from core.labels.snapshot import items_of
from core.types import F32
from service.ranking.asker import Asker
from service.ranking.family import Family, Published
from service.ranking.pool import Pool, chosen
from service.ranking.ranker import Listed, Ranker


class Labelled(Ranker):
    """A label model. Its "feature vector" of a user holds the scores of all items."""

    reads_features = True

    def __init__(
        self,
        family: Family,
        version: str,
        model: ItemsAsLabels,
        trained_through: Mapping[int, int],
        *,
        users: FeatureEncoder,
        items: FeatureEncoder,
    ) -> None:
        super().__init__(family, version, trained_through, model.item_places)
        self.model, self.users, self.items = model, users, items
        self.features = users.features
        self.effort += model.space.points.size
        self.audience = self

    def knows(self, asker: Asker) -> bool:
        return self.version in asker.features

    def share(self, asker: Asker) -> float:
        """Features count as one event: as the history grows, rankers that read it take over."""
        return 1.0 / (1.0 + asker.preferences.item_ix.size)

    def feature_vector(self, features: Mapping[str, Any]) -> F32 | None:
        row = self.users.transform([features])
        return self.model.scores(row)[0] if row.nnz else None

    def best(self, asker: Asker, pool: Pool, n: int) -> Listed:
        return Listed(*chosen(self.scores(asker), pool, n))

    def scores(self, asker: Asker) -> F32:
        nothing = np.full(self.n_items, -np.inf, np.float32)
        return asker.features.get(self.version, nothing)


def read_labelled(family: Family, model: Published) -> Labelled:
    """Return the ranker of a published model."""
    users, items = encoders_of(model.snapshot)
    through, labels = model.trained_through, items_of(model.snapshot)
    return Labelled(family, model.version, labels, through, users=users, items=items)
