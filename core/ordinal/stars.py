"""Predicted stars of user-item pairs from the features of both.

The score of one ordinal model is a product of two vectors: the cosine of a sum decomposes into
products, so the contribution of an item is a vector of its own. Ranking all items for a user takes
one product per item, as with factors. Unrated items have vectors, too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from core.errors import DataError, ShapeError
from core.ordinal import qs3orao
from core.ordinal.config import StarsConfig
from core.ordinal.judge import equal_levels
from core.ordinal.qs3orao import OrdinalModel
from core.types import F32, F64, I64

MOST_LEVELS, COARSE = 10, 5
"""Largest number of distinct ratings that become levels, and number of levels otherwise."""
MOST_JUDGED = 10_000
"""Largest number of rated pairs that ``agreement`` evaluates."""
MOST_DENSE = 1 << 24
"""Largest number of elements of a fit's feature rows; with wide features, fewer pairs take part."""


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """n rated pairs: rows of both feature matrices, and the ratings ``value`` (n,)."""

    user_ix: I64
    item_ix: I64
    value: F32

    def rows(self, chosen: Any) -> "RatedPairs":
        """Return some of the pairs."""
        return RatedPairs(self.user_ix[chosen], self.item_ix[chosen], self.value[chosen])


@dataclass(frozen=True, eq=False)
class Stars:
    """A score of pairs, f(u, y) = p_u . q_y - offset.

    Symbols    q_y = [cos b, sin b], b = W'z of the item's features · a = W'z of the user's
               p_u = [c cos a + s sin a, s cos a - c sin a], c and s the weights of cosines and
               sines
    """

    model: OrdinalModel
    n_user_features: int
    values: F64
    """Rating that each level stands for, (levels,)."""
    item_vectors: F32
    """q (items, 2m); 0 for items without features."""

    def user_vectors(self, features: Any) -> F32:
        """Return p of users with these features, (n, 2m)."""
        cosine, sine = self._waves(features, self._user)
        c, s = np.split(self.model.weights, 2)
        return np.hstack([c * cosine + s * sine, s * cosine - c * sine])

    def vectors_of(self, features: Any) -> F32:
        """Return q of items with these features, (n, 2m); 0 for rows without any."""
        vectors = np.hstack(self._waves(features, self._item))
        vectors[np.diff(features.indptr) == 0] = 0.0
        return vectors

    def scores(self, features: Any) -> F32:
        """Return f of users with these features and all items, (n, items).

        It is -inf for items without features.
        """
        found = self.user_vectors(features) @ self.item_vectors.T - np.float32(self.model.offset)
        found[:, ~self.item_vectors.any(axis=1)] = -np.inf
        return found

    def of_pairs(self, users: Any, items: Any) -> F64:
        """Return f of n pairs with these features, (n,)."""
        products = self.user_vectors(users) * np.hstack(self._waves(items, self._item))
        scores: F64 = products.sum(axis=1, dtype=np.float64) - self.model.offset
        return scores

    def _waves(self, features: Any, part: slice) -> tuple[F32, F32]:
        model = self.model
        width = len(range(*part.indices(model.low.size)))
        if features.shape[1] != width:
            raise ShapeError(f"{features.shape[1]} features, the model knows {width}")
        # Computes z' W without forming z, which the lower ends of the ranges would make dense.
        inverse, ends = model.inverse_range[part], model.low[part] * model.inverse_range[part]
        scaled = sparse.csr_array(features, copy=True)
        scaled.data = (scaled.data * inverse[scaled.indices]).astype(np.float32)
        moved = np.flatnonzero(ends)
        frequencies = model.frequencies[part]
        angles = scaled @ frequencies - (ends[moved] @ frequencies[moved]).astype(np.float32)
        return np.cos(angles), np.sin(angles)

    @property
    def _user(self) -> slice:
        return slice(0, self.n_user_features)

    @property
    def _item(self) -> slice:
        return slice(self.n_user_features, None)


def fit_stars(users: Any, items: Any, rated: RatedPairs, config: StarsConfig) -> Stars:
    """Fit stars to the ratings of some pairs; all other pairs are unlabelled.

    users (users, d) and items (items, e) are sparse features.
    """
    rated = _described(users, items, rated)
    if rated.value.size == 0:
        raise DataError("no rating of a described user and a described item: describe both")
    rng = np.random.default_rng([config.seed, 20])
    most = max(MOST_DENSE // (users.shape[1] + items.shape[1]), 1_000)
    rated = rated.rows(rng.permutation(rated.value.size)[: min(config.labelled, most)])
    level, values = levels_of_ratings(rated.value)
    if values.size < 2:
        raise DataError("all ratings have one level: there is nothing to tell apart")
    # A rated pair among the drawn ones is rare and harmless: its level is merely ignored.
    spare = np.flatnonzero(np.diff(users.indptr)), np.flatnonzero(np.diff(items.indptr))
    user_ix, item_ix = (rng.choice(rows, min(config.unlabelled, most)) for rows in spare)
    x = np.hstack(
        [
            users[np.concatenate([rated.user_ix, user_ix])].toarray(),
            items[np.concatenate([rated.item_ix, item_ix])].toarray(),
        ]
    ).astype(np.float64)
    levels = np.concatenate([level, np.zeros(user_ix.size, np.int64)])
    model = qs3orao.fit(x, levels, values.size, config.ordinal(items.shape[0]))
    nothing = np.empty((0, 2 * model.frequencies.shape[1]), np.float32)
    stars = Stars(model, users.shape[1], values, nothing)
    return Stars(model, users.shape[1], values, _all_vectors(stars, items))


def agreement(stars: Stars, users: Any, items: Any, rated: RatedPairs) -> dict[str, float]:
    """Return how well the ratings of at most MOST_JUDGED pairs with features are predicted.

    ``mae``: of the expected rating, on the ratings' scale · ``accuracy``: share of pairs whose true
    level is the predicted one · empty if there is no such pair
    """
    rated = _described(users, items, rated)
    rated = rated.rows(slice(None, None, -(-rated.value.size // MOST_JUDGED) or 1))
    if rated.value.size == 0:
        return {}
    scores = stars.of_pairs(users[rated.user_ix], items[rated.item_ix])
    expected = stars.model.levels.probabilities(scores) @ stars.values
    level = np.abs(rated.value[:, None] - stars.values).argmin(axis=1) + 1
    return {
        "mae": float(np.abs(expected - rated.value).mean()),
        "accuracy": float((stars.model.levels.level(scores) == level).mean()),
    }


def _described(users: Any, items: Any, rated: RatedPairs) -> RatedPairs:
    known = (np.diff(users.indptr) > 0)[rated.user_ix] & (np.diff(items.indptr) > 0)[rated.item_ix]
    return rated.rows(known)


def levels_of_ratings(value: F32) -> tuple[I64, F64]:
    """Return the level of each rating, (n,) from 1, and the rating that each level stands for.

    >>> levels_of_ratings(np.array([2.5, 1.0, 4.0, 1.0], np.float32))
    (array([2, 1, 3, 1]), array([1. , 2.5, 4. ]))
    """
    different, place = np.unique(value, return_inverse=True)
    if different.size <= MOST_LEVELS:
        return place.astype(np.int64) + 1, different.astype(np.float64)
    level = equal_levels(value.astype(np.float64), COARSE)
    means = np.bincount(level, value.astype(np.float64))[1:] / np.bincount(level)[1:]
    return level, means


def _all_vectors(stars: Stars, items: Any, step: int = 4_096) -> F32:
    parts = [stars.vectors_of(items[at : at + step]) for at in range(0, items.shape[0], step)]
    return np.concatenate([stars.item_vectors, *parts])
