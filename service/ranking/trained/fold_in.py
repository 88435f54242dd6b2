"""Models with a vector for each item; the user's vector is computed from the current history."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from core import slate as choices
from core.batch.item_objective import taker_vectors
from core.batch.item_prior import item_prior
from core.batch.ocmf.users import StructuredUsers
from core.batch.preferences import Preferences
from core.batch.snapshot import encoders_of, users_of
from core.batch.takers import Takers
from core.features import FeatureEncoder
from core.kernels.scan import Mask
from core.slate import Explanation
from core.types import F32, I32
from service.ranking.asker import Asker, Computed
from service.ranking.family import Family, Published
from service.ranking.pool import Pool, Ranked, nearest, ordered
from service.ranking.ranker import HeadRanker, Ranker


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
        self.encoder = encoder if users.weights is not None else None
        self.reads_features = self.encoder is not None
        self.features = () if self.encoder is None else self.encoder.features

    def knows(self, asker: Asker) -> bool:
        known = self.users.row.knows(asker.preferences.item_ix)
        return known or self.version in asker.features

    def feature_vector(self, features: Mapping[str, Any]) -> F32 | None:
        row = None if self.encoder is None else self.encoder.transform([features])
        return None if row is None else self.encoded_vector(row)

    def encoded_vector(self, row: Any) -> F32 | None:
        known = self.encoder is not None and row.nnz
        return self.users.feature_vectors(row)[0] if known else None

    def prepare(self, asker: Asker) -> Computed | None:
        if self.version in asker.features or (self.strategy, self.version) in asker.vectors:
            return None
        return Computed(self.strategy, self.version, self.fold_in(asker))

    @property
    def vectors_of(self) -> str:
        return self.version

    def fold_in(self, asker: Asker) -> F32:
        features = asker.features.get(self.version)
        # the cached vector was computed from the history alone
        if features is None:
            vector = asker.vectors.get((self.strategy, self.version))
            if vector is not None:
                return vector
        past = self.past(asker)
        return self.users.vector(past.item_ix, past.weight, past.target, feature_vector=features)

    def past(self, asker: Asker) -> Preferences:
        """Return the preferences for the items of the training."""
        return asker.preferences.within(len(self.item_vectors))

    def user_vector(self, asker: Asker) -> F32 | None:
        return self.fold_in(asker)

    def nearest(self, vector: F32, pool: Pool, n: int) -> Ranked:
        return nearest(vector, self.item_vectors, pool, n)

    def scores(self, asker: Asker) -> F32:
        scores: F32 = self.item_vectors @ self.fold_in(asker)
        return scores

    def scores_of(self, asker: Asker, items: I32) -> F32:
        found = np.full(items.size, -np.inf, np.float32)
        known = items < len(self.item_vectors)
        found[known] = self.item_vectors[items[known]] @ self.fold_in(asker)
        return found

    def explain(self, asker: Asker, items: I32) -> Explanation | None:
        return self._explained(asker, self.item_vectors[items])

    def _explained(self, asker: Asker, vectors: F32) -> Explanation:
        """Return the contributions of the past to the scores of items with these vectors."""
        past, vector = self.past(asker), self.fold_in(asker)
        own = past.item_ix, past.weight, past.target
        return choices.explain(self.users.row, vector, *own, vectors)

    def warm(self) -> None:
        self.users.vector(np.empty(0, np.int32))
        # the first call finds the learned items, which is slow in a large catalogue
        self.users.row.knows(np.zeros(1, np.int32))

    @property
    def learned(self) -> Mask | None:
        return None if self.users.items is None else self.users.row.learned

    def folding_in(self, takers: Takers, placing: Ranker | None = None) -> "FoldIn":
        side, row = self.users.items, self.users.row
        new = takers.pairs_but(row.learned)
        if side is None or not new.items.size:
            return self
        users, made_of = taker_vectors(row, takers), takers.version
        if placing is None:
            return WithLaterItems(self, new.items, side.vectors(users, new), made_of)
        prior = item_prior(row.item_factors, row.learned, placing.item_vectors, new.items)
        vectors = side.vectors(users, new, prior=prior)
        return WithLaterItems(self, new.items, vectors, f"{made_of} at {placing.made_of}")


class WithLaterItems(FoldIn):
    """A model that also ranks items that it has not learned: events gave them vectors since."""

    def __init__(self, model: FoldIn, items: I32, vectors: F32, version: str) -> None:
        known = model.users, model.trained_through, model.encoder
        super().__init__(model.family, model.version, *known)
        self._later, self._vectors, self._by = items, vectors, version
        self.n_items = max(self.n_items, int(items[-1]) + 1)
        self.effort += vectors.size

    @property
    def made_of(self) -> str:
        return f"{self.version} with {self._by}"

    def nearest(self, vector: F32, pool: Pool, n: int) -> Ranked:
        # an empty mask lets every item pass
        shown = pool.allowed if pool.allowed.size else np.ones(self.n_items, np.bool_)
        own = self._later if self._later[-1] < shown.size else self._later[self._later < shown.size]
        learned = shown.copy()
        learned[own] = False
        items, scores = super().nearest(vector, Pool(learned, pool.excluded, pool.candidates), n)
        kept = shown[own] & ~_among(own, pool.excluded)
        if pool.candidates is not None:
            kept &= _among(own, pool.candidates)
        later = (self._vectors[: own.size] @ vector)[kept]
        return ordered(np.concatenate([items, own[kept]]), np.concatenate([scores, later]), n)

    def scores(self, asker: Asker) -> F32:
        scores = np.full(self.n_items, -np.inf, np.float32)
        scores[: len(self.item_vectors)] = super().scores(asker)
        scores[self._later] = self._vectors @ self.fold_in(asker)
        return scores

    def scores_of(self, asker: Asker, items: I32) -> F32:
        scores = super().scores_of(asker, items)
        later = _among(items, self._later)
        scores[later] = self._of(items[later]) @ self.fold_in(asker)
        return scores

    def explain(self, asker: Asker, items: I32) -> Explanation | None:
        vectors = np.zeros((items.size, self._vectors.shape[1]), np.float32)
        known, later = items < len(self.item_vectors), _among(items, self._later)
        vectors[known] = self.item_vectors[items[known]]
        vectors[later] = self._of(items[later])
        found = self._explained(asker, vectors)
        # later items of the past count for nothing, but have their columns
        more = asker.preferences.within(self.n_items).item_ix.size - found.contribution.shape[1]
        return Explanation(np.pad(found.contribution, ((0, 0), (0, more))), found.constant)

    def _of(self, later: I32) -> F32:
        """Return the vectors of some later items."""
        vectors: F32 = self._vectors[np.searchsorted(self._later, later)]
        return vectors


def _among(items: I32, others: I32) -> Mask:
    """Mark the items that are among others, which rise."""
    if not others.size:
        return np.zeros(items.size, np.bool_)
    at = np.minimum(np.searchsorted(others, items), others.size - 1)
    found: Mask = others[at] == items
    return found


def read_fold_in(family: Family, model: Published) -> FoldIn:
    """Return the ranker of a published model."""
    encoder, _ = encoders_of(model.snapshot)
    users, through = users_of(model.snapshot), model.trained_through
    return FoldIn(family, model.version, users, through, encoder)
