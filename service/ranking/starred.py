"""Stars from what is known of user and item: ranks items that nobody has rated, too."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from core.features import FeatureEncoder
from core.ordinal.stars import Stars
from core.types import F32
from service.ranking.rankers import Asker, Pool, Ranked, Trained, chosen

USUAL = 64
"""Users, and items, that stand for one of which nothing is known."""


class Starred(Trained):
    """An ordinal model. Features become a user's vector; it foresees stars, not what somebody will take."""

    knows_features = True
    trusted = False

    def __init__(
        self,
        version: str,
        stars: Stars,
        trained_through: Mapping[int, int],
        users: FeatureEncoder,
        items: FeatureEncoder,
        later: F32 | None = None,
    ) -> None:
        super().__init__("ordinal", version, trained_through, stars.item_vectors)
        self.stars, self.users, self.items = stars, users, items
        self.features = users.features
        self._later = stars.item_vectors[:0] if later is None else later
        """Vectors of the items that follow those of the model."""
        self.n_items += len(self._later)
        self._unknown = ~np.concatenate([part.any(axis=1) for part in self._parts])

    @property
    def _parts(self) -> tuple[F32, F32]:
        return self.places, self._later

    def with_later(self, later: F32) -> "Starred":
        """Return the ranker of some more items."""
        through = self.trained_through
        return Starred(self.version, self.stars, through, self.users, self.items, later)

    @cached_property
    def usual_users(self) -> F32:
        """Return the vectors of some users as there may be any, (n, 2m): one value drawn of each feature."""
        rng = np.random.default_rng(0)
        names = np.array(self.users.names)
        own = [np.flatnonzero(names == name) for name in dict.fromkeys(self.users.names)]
        drawn = np.array([[rng.choice(values) for values in own] for _ in range(USUAL)], np.int64)
        shape = (USUAL, names.size)
        rows = np.repeat(np.arange(USUAL), len(own))
        ones = np.ones(rows.size, np.float32)
        return self.stars.user_vectors(csr_array((ones, (rows, drawn.ravel())), shape=shape))

    @cached_property
    def usual_items(self) -> F32:
        """Return the vectors of some items that the model knows, (n, 2m)."""
        known = np.flatnonzero(self.places.any(axis=1))
        places: F32 = self.places[known[:: max(known.size // USUAL, 1)]]
        return places

    def knows(self, asker: Asker) -> bool:
        return self.version in asker.described

    def describe(self, features: Mapping[str, Any]) -> F32 | None:
        row = self.users.transform([features])
        return self.stars.user_vectors(row)[0] if row.nnz else None

    def best(self, asker: Asker, pool: Pool, n: int) -> Ranked:
        return chosen(self.scores(asker), pool, n)

    def scores(self, asker: Asker) -> F32:
        vector = asker.described.get(self.version)
        if vector is None:
            return np.full(self.n_items, -np.inf, np.float32)
        scores: F32 = np.concatenate([part @ vector for part in self._parts])
        scores -= np.float32(self.stars.model.offset)
        scores[self._unknown] = -np.inf
        return scores
