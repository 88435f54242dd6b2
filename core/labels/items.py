"""Items as labels of the users who like them: who likes what by features alone, and which items go together.

A user with features and no history is a point without labels. Items have places of their own, too: those that the
same users like lie together (``item_places``), and an item nobody knows yet is placed by its features.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from core.batch.feature_map import FeatureMap
from core.batch.ocmf.feature_regression import RIDGE, ridge
from core.errors import ConfigError, ShapeError
from core.interactions import Interactions
from core.labels.config import ItemsConfig
from core.labels.exmlds import embedded, fitted, labelled, mapping
from core.labels.space import LabelSpace, unit
from core.labels.spectrum import leading
from core.labels.sppmi import sppmi
from core.ranking_metrics import hits, ndcg
from core.search.search import Budget
from core.types import F32, F64, I64

MOST_USERS, MOST_PLACED = 6_000, 6_000
"""Users who teach, drawn at random, and the items of most users, which get places: bounds time and memory."""
FEWEST_TO_SEARCH, JUDGES, HELD_OUT = 100, 400, 0.2
"""Users without whom nothing is searched; those that judge a setting; their share of all."""
DEPTH = 10
GRID: dict[str, tuple[Any, ...]] = {
    "reg": (1.0, 10.0, 100.0),
    "blend": (0.3, 1.0, 3.0),
    "neighbours": (400, 100, 1_600),
    "sharpness": (20.0, 5.0),
}
"""What is searched, one setting after the other."""


@dataclass(frozen=True, eq=False)
class LabelledItems:
    """L items as labels of users with d features, one part of one learner.

    who likes y        z = W'x, x a user's features;  score = votes of neighbours for y, and h_y . z
    an unknown item    h = V'f, f its features
    items alike        cosine of places from SPPMI(Y'Y)
    """

    space: LabelSpace
    item_places: F32
    """(L, g), rows of length 1; 0 where too few users know the item."""
    item_weights: F32 | None = None
    """V (d_items + 1, g), for features of items with a constant; None: nothing describes items."""

    @cached_property
    def known(self) -> "np.typing.NDArray[np.bool_]":
        """Return which items a user of the fit liked, (L,)."""
        counts: I64 = self.space.labels.item_counts
        return counts > 0

    def scores(self, features: Any) -> F32:
        """Return how much users with these features like each item, (n, L); -inf where nobody liked it."""
        found = self.space.scores(features)
        found[:, ~self.known] = -np.inf
        return found

    def factors_of(self, features: Any) -> F32:
        """Return h of items with these features, (n, g); ConfigError if the model knows no features of items."""
        if self.item_weights is None:
            raise ConfigError(
                "the model knows no features of items: describe items, train it again"
            )
        mapped: Any = FeatureMap().transform(features)
        if mapped.shape[1] != self.item_weights.shape[0]:
            raise ShapeError(
                f"{mapped.shape[1]} columns of items, the model has {self.item_weights.shape[0]}"
            )
        return np.asarray(mapped @ self.item_weights, np.float32)

    def audience(self, factors: F32, features: Any) -> tuple[F64, Any]:
        """Return how much each user likes one item of these factors (g,), and the parts of the features.

        Equation   h . z_u = sum_j x_uj (W h)_j: scores (users,), parts (users, d) sparse, without the constant's
        """
        mapped: Any = self.space.mapped(features)
        says = self.space.weights[0] @ factors
        parts = mapped.multiply(says[None, :]).tocsr()
        return np.asarray(mapped @ says, np.float64), parts[:, : self.space.n_features]


def fit_items(
    features: Any,
    liked: Interactions,
    config: ItemsConfig,
    item_features: Any = None,
    *,
    most_users: int = MOST_USERS,
    most_placed: int = MOST_PLACED,
) -> LabelledItems:
    """Fit on users' features X (users, d) and the items that they like; ``item_features`` is (items, d_items)."""
    rows, labels = labelled(*_drawn(features, liked, config.seed, most_users))
    exmlds = config.exmlds
    parts = embedded(exmlds, rows, labels)
    space = fitted(exmlds, mapping(exmlds, rows), rows, labels, parts)
    weights = None
    if item_features is not None and item_features.shape[1]:
        weights = _item_weights(space, labels, item_features)
    places = item_places(liked, config, most_users=most_users, most_placed=most_placed)
    return LabelledItems(space, places, weights)


def item_places(
    liked: Interactions,
    config: ItemsConfig,
    *,
    most_users: int = MOST_USERS,
    most_placed: int = MOST_PLACED,
) -> F32:
    """Return places of items (items, g) by who likes them: the leading directions of SPPMI(Y'Y), of length 1."""
    rng = np.random.default_rng([config.seed, 11])
    some = liked.rows(_some(np.flatnonzero(liked.user_counts), 2 * most_users, config.seed))
    counts = some.item_counts
    usual = np.sort(np.argsort(-counts, kind="stable")[:most_placed])
    usual = usual[counts[usual] > 1]
    places = np.zeros((liked.n_items, config.factors), np.float32)
    if usual.size:
        found = sppmi(some.by_item().rows(usual), config.shift)
        values, vectors = leading(found.times, usual.size, config.factors, rng)
        places[usual] = unit(vectors * np.sqrt(np.abs(values)).astype(np.float32))
    return places


def search_items(
    features: Any,
    liked: Interactions,
    base: ItemsConfig,
    budget: Budget,
    *,
    fixed: frozenset[str] = frozenset(),
    on_share: Callable[[float], None] = lambda share: None,
) -> ItemsConfig:
    """Return the settings of best ndcg@10 for users left out of the fit; those in ``fixed`` stay."""
    rows, labels = labelled(*_drawn(features, liked, base.seed))
    if budget.seconds <= 0.0 or labels.n_users < FEWEST_TO_SEARCH:
        return base
    started = budget.now()
    trials = _Trials(rows, labels, base)
    best, open_grid = base, {name: grid for name, grid in GRID.items() if name not in fixed}
    score, done = trials.score(best), 1
    for name, values in open_grid.items():
        for value in values:
            spent = budget.now() - started
            # embedding is shared: another trial costs about the mean
            if spent * (1.0 + 1.0 / done) > budget.seconds:
                return best
            trial = replace(best, **{name: value})
            found = trials.score(trial)
            best, score = (trial, found) if found > score else (best, score)
            done += 1
            on_share(min(spent / budget.seconds, 1.0))
    return best


class _Trials:
    """Settings judged by users who are left out; their places are made once."""

    def __init__(self, rows: Any, labels: Interactions, base: ItemsConfig) -> None:
        order = np.random.default_rng([base.seed, 12]).permutation(labels.n_users)
        n_held = min(round(HELD_OUT * labels.n_users), JUDGES)
        held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
        self._rows, self._labels = rows[kept], labels.rows(kept)
        self._judging, self._truth = rows[held], labels.rows(held)
        self._parts = embedded(base.exmlds, self._rows, self._labels)
        self._tried: dict[ItemsConfig, float] = {}

    def score(self, config: ItemsConfig) -> float:
        if config not in self._tried:
            exmlds = config.exmlds
            feature_map = mapping(exmlds, self._rows)
            space = fitted(exmlds, feature_map, self._rows, self._labels, self._parts)
            ids, _ = space.ranked(self._judging, DEPTH)
            self._tried[config] = float(ndcg(hits(ids, self._truth), DEPTH).mean())
        return self._tried[config]


def _drawn(
    features: Any, liked: Interactions, seed: int, most: int = MOST_USERS
) -> tuple[Any, Interactions]:
    """Return users with features and items, at most ``most`` of them."""
    described = np.diff(features.indptr) > 0
    chosen = _some(np.flatnonzero(described & (liked.user_counts > 0)), most, seed)
    return features[chosen], liked.rows(chosen)


def _some(users: I64, most: int, seed: int) -> I64:
    """Return at most so many of the users, the same ones for the same seed."""
    if users.size <= most:
        return users
    rng = np.random.default_rng([seed, 10])
    return np.sort(rng.choice(users, most, replace=False))


def _item_weights(space: LabelSpace, labels: Interactions, item_features: Any) -> F32:
    """Return V such that items' features lead near their factors."""
    known = np.flatnonzero(labels.item_counts)
    mapped: Any = FeatureMap().transform(item_features)
    return ridge(mapped[known], space.label_factors[0][known], RIDGE).astype(np.float32)
