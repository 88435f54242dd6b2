"""Fitting of stars: a model of ratings from features of users and items, and its metrics."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from core.errors import DataError
from core.ordinal import qs3orao
from core.ordinal.config import StarsConfig
from core.ordinal.metrics import equal_levels
from core.ordinal.stars import Stars
from core.types import F32, F64, I64

MOST_LEVELS, COARSE = 10, 5
"""Largest number of distinct ratings that become levels, and number of levels otherwise."""
MOST_EVALUATED = 10_000
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


def fit_stars(users: Any, items: Any, rated: RatedPairs, config: StarsConfig) -> Stars:
    """Fit stars to the ratings of some pairs; all other pairs are unlabelled.

    users (users, d) and items (items, e) are sparse features.
    """
    rated = _with_features(users, items, rated)
    if rated.value.size == 0:
        raise DataError("no rating has features of both its user and its item: send both")
    rng = np.random.default_rng([config.seed, 20])
    most = max(MOST_DENSE // (users.shape[1] + items.shape[1]), 1_000)
    rated = rated.rows(rng.permutation(rated.value.size)[: min(config.labelled, most)])
    level, values = levels_of_ratings(rated.value)
    if values.size < 2:
        raise DataError("all ratings have the same level: there is nothing to learn")
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
    """Return how well the ratings of at most MOST_EVALUATED pairs with features are predicted.

    ``mae``: of the expected rating, on the ratings' scale · ``accuracy``: share of pairs whose true
    level is the predicted one · empty if there is no such pair
    """
    rated = _with_features(users, items, rated)
    rated = rated.rows(slice(None, None, -(-rated.value.size // MOST_EVALUATED) or 1))
    if rated.value.size == 0:
        return {}
    scores = stars.of_pairs(users[rated.user_ix], items[rated.item_ix])
    expected = stars.model.levels.probabilities(scores) @ stars.values
    level = np.abs(rated.value[:, None] - stars.values).argmin(axis=1) + 1
    return {
        "mae": float(np.abs(expected - rated.value).mean()),
        "accuracy": float((stars.model.levels.level(scores) == level).mean()),
    }


def _with_features(users: Any, items: Any, rated: RatedPairs) -> RatedPairs:
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
