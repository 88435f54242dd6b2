"""Predicted stars, from features of users and items; it also ranks items without ratings."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from core.batch.snapshot import encoders_of
from core.features import FeatureEncoder, of_item
from core.ordinal.snapshot import stars_of
from core.ordinal.stars import Stars
from core.types import F32
from service.ranking.asker import Asker
from service.ranking.family import Family, Published
from service.ranking.pool import Pool, chosen
from service.ranking.ranker import Listed, Ranker

TYPICAL = 64
"""Number of typical users, and of typical items, that stand for an unknown user or item."""


class Starred(Ranker):
    """An ordinal model. It predicts ratings from features, not the next event from a history."""

    reads_features = True

    def __init__(
        self,
        family: Family,
        version: str,
        stars: Stars,
        trained_through: Mapping[int, int],
        *,
        users: FeatureEncoder,
        items: FeatureEncoder,
        later: F32 | None = None,
    ) -> None:
        super().__init__(family, version, trained_through, stars.item_vectors)
        self.stars, self.users, self.items = stars, users, items
        self.features = users.features
        self._later = stars.item_vectors[:0] if later is None else later
        """Vectors of the items that were added after the training."""
        self.n_items += len(self._later)
        self._unknown = ~np.concatenate([vectors.any(axis=1) for vectors in self._all_vectors])
        self.star_model = self

    @property
    def _all_vectors(self) -> tuple[F32, F32]:
        return self.item_vectors, self._later

    def with_later(self, bodies: Mapping[int, Mapping[str, Any]]) -> "Starred":
        rows = self.items.transform([of_item(body) for _, body in sorted(bodies.items())])
        return Starred(
            self.family,
            self.version,
            self.stars,
            self.trained_through,
            users=self.users,
            items=self.items,
            later=self.stars.vectors_of(rows),
        )

    @cached_property
    def typical_users(self) -> F32:
        """Return vectors (n, 2m) of users with a randomly drawn value for each feature."""
        rng = np.random.default_rng(0)
        names = np.array(self.users.names)
        values_of = [np.flatnonzero(names == name) for name in dict.fromkeys(self.users.names)]
        choices = [[rng.choice(values) for values in values_of] for _ in range(TYPICAL)]
        drawn = np.array(choices, np.int64)
        shape = (TYPICAL, names.size)
        rows = np.repeat(np.arange(TYPICAL), len(values_of))
        ones = np.ones(rows.size, np.float32)
        return self.stars.user_vectors(csr_array((ones, (rows, drawn.ravel())), shape=shape))

    @cached_property
    def typical_items(self) -> F32:
        """Return the vectors (n, 2m) of some items that the model knows, evenly spaced."""
        known = np.flatnonzero(self.item_vectors.any(axis=1))
        vectors: F32 = self.item_vectors[known[:: max(known.size // TYPICAL, 1)]]
        return vectors

    def knows(self, asker: Asker) -> bool:
        return self.version in asker.features

    def feature_vector(self, features: Mapping[str, Any]) -> F32 | None:
        row = self.users.transform([features])
        return self.stars.user_vectors(row)[0] if row.nnz else None

    def best(self, asker: Asker, pool: Pool, n: int) -> Listed:
        return Listed(*chosen(self.scores(asker), pool, n))

    def scores(self, asker: Asker) -> F32:
        vector = asker.features.get(self.version)
        if vector is None:
            return np.full(self.n_items, -np.inf, np.float32)
        scores: F32 = np.concatenate([vectors @ vector for vectors in self._all_vectors])
        scores -= np.float32(self.stars.model.offset)
        scores[self._unknown] = -np.inf
        return scores


def read_starred(family: Family, model: Published) -> Starred:
    """Return the ranker of a published model."""
    users, items = encoders_of(model.snapshot)
    through, stars = model.trained_through, stars_of(model.snapshot)
    return Starred(family, model.version, stars, through, users=users, items=items)
