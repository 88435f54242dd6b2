"""Models with a vector for each item; the user's vector is computed from the current history."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from core import slate as choices
from core.batch.ocmf.users import StructuredUsers
from core.batch.snapshot import encoders_of, users_of
from core.features import FeatureEncoder
from core.slate import Explanation
from core.types import F32, I32
from service.ranking.asker import Asker, Computed
from service.ranking.family import Family, Published
from service.ranking.pool import Pool, Ranked, nearest
from service.ranking.ranker import HeadRanker


class FoldIn(HeadRanker):
    """Ranks by the dot products of the user's vector with the item vectors."""

    def __init__(
        self,
        family: Family,
        version: str,
        users: StructuredUsers,
        trained_through: Mapping[int, int],
        encoder: FeatureEncoder | None = None,
    ) -> None:
        super().__init__(family, version, trained_through, users.row.item_factors)
        self.users = users
        self._encoder = encoder if users.weights is not None else None
        self.reads_features = self._encoder is not None
        self.features = () if self._encoder is None else self._encoder.features

    def knows(self, asker: Asker) -> bool:
        known = self.users.row.knows(asker.preferences.item_ix)
        return known or self.version in asker.features

    def feature_vector(self, features: Mapping[str, Any]) -> F32 | None:
        row = None if self._encoder is None else self._encoder.transform([features])
        return None if row is None else self.encoded_vector(row)

    def encoded_vector(self, row: Any) -> F32 | None:
        known = self._encoder is not None and row.nnz
        return self.users.feature_vectors(row)[0] if known else None

    def prepare(self, asker: Asker) -> Computed | None:
        if self.version in asker.features or self.version in asker.vectors:
            return None
        return Computed(self.strategy, self.version, self.fold_in(asker))

    def fold_in(self, asker: Asker) -> F32:
        features = asker.features.get(self.version)
        # the cached vector was computed from the history alone
        vector = asker.vectors.get(self.version) if features is None else None
        if vector is not None:
            return vector
        past = asker.preferences.within(self.n_items)
        return self.users.vector(past.item_ix, past.weight, past.target, feature_vector=features)

    def user_vector(self, asker: Asker) -> F32 | None:
        return self.fold_in(asker)

    def nearest(self, vector: F32, pool: Pool, n: int) -> Ranked:
        return nearest(vector, self.item_vectors, pool, n)

    def scores(self, asker: Asker) -> F32:
        scores: F32 = self.item_vectors @ self.fold_in(asker)
        return scores

    def scores_of(self, asker: Asker, items: I32) -> F32:
        found = np.full(items.size, -np.inf, np.float32)
        known = items < self.n_items
        found[known] = self.item_vectors[items[known]] @ self.fold_in(asker)
        return found

    def explain(self, asker: Asker, items: I32) -> Explanation | None:
        past, vector = asker.preferences.within(self.n_items), self.fold_in(asker)
        row = self.users.row
        return choices.explain(row, vector, past.item_ix, past.weight, past.target, items)

    def warm(self) -> None:
        self.users.vector(np.empty(0, np.int32))
        # the first call finds the learned items, which is slow in a large catalogue
        self.users.row.knows(np.zeros(1, np.int32))


def read_fold_in(family: Family, model: Published) -> FoldIn:
    """Return the ranker of a published model."""
    encoder, _ = encoders_of(model.snapshot)
    users, through = users_of(model.snapshot), model.trained_through
    return FoldIn(family, model.version, users, through, encoder)
