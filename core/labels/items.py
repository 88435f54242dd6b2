"""Items as labels of the users who like them: ranks items by user features alone.

A user with features and no history is a point without labels. Items have vectors, too: items that
the same users like are similar (``item_places``), and the features of an unknown item give it a
vector.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from core.batch.feature_map import FeatureMap
from core.batch.ocmf.feature_regression import RIDGE, ridge
from core.interactions import Interactions
from core.labels.config import ItemsConfig
from core.labels.exmlds import embedded, fitted, labelled, mapping
from core.labels.labelled_items import ItemsAsLabels
from core.labels.space import LabelSpace, unit
from core.labels.spectrum import leading
from core.labels.sppmi import sppmi
from core.ranking_metrics import hits, ndcg
from core.search.search import Budget
from core.types import F32, I64

MOST_USERS, MOST_PLACED = 6_000, 6_000
"""Limits on time and memory: users drawn for a fit, and items (the most liked) that get vectors."""
FEWEST_TO_SEARCH, MOST_HELD_OUT, HELD_OUT = 100, 400, 0.2
"""Fewest users for a search; most held-out users of a search, and their share of all users."""
DEPTH = 10
GRID: dict[str, tuple[Any, ...]] = {
    "reg": (1.0, 10.0, 100.0),
    "blend": (0.3, 1.0, 3.0),
    "neighbours": (400, 100, 1_600),
    "sharpness": (20.0, 5.0),
}
"""Settings to search, one after the other."""


def fit_items(
    features: Any,
    liked: Interactions,
    config: ItemsConfig,
    item_features: Any = None,
    *,
    most_users: int = MOST_USERS,
    most_placed: int = MOST_PLACED,
) -> ItemsAsLabels:
    """Fit on users' features (users, d) and liked items; ``item_features`` (items, d_items).

    ``most_users`` and ``most_placed`` limit time and memory.
    """
    rows, labels = labelled(*_drawn(features, liked, config.seed, most_users))
    exmlds = config.exmlds
    parts = embedded(exmlds, rows, labels)
    space = fitted(exmlds, mapping(exmlds, rows), rows, labels, parts)
    weights = None
    if item_features is not None and item_features.shape[1]:
        weights = _item_weights(space, labels, item_features)
    places = item_places(liked, config, most_users=most_users, most_placed=most_placed)
    return ItemsAsLabels(space, places, weights)


def item_places(
    liked: Interactions,
    config: ItemsConfig,
    *,
    most_users: int = MOST_USERS,
    most_placed: int = MOST_PLACED,
) -> F32:
    """Return vectors of items (items, g), of length 1: leading directions of SPPMI(Y'Y)."""
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
) -> ItemsConfig:
    """Return the settings with the best ndcg@10 for held-out users; those in ``fixed`` stay."""
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
            # The embedding is shared: the next trial costs about the mean of the previous ones.
            if spent * (1.0 + 1.0 / done) > budget.seconds:
                return best
            trial = replace(best, **{name: value})
            found = trials.score(trial)
            best, score = (trial, found) if found > score else (best, score)
            done += 1
            budget.on_share(min(spent / budget.seconds, 1.0))
    return best


class _Trials:
    """Scores settings on held-out users; the embedding is computed once."""

    def __init__(self, rows: Any, labels: Interactions, base: ItemsConfig) -> None:
        order = np.random.default_rng([base.seed, 12]).permutation(labels.n_users)
        n_held = min(round(HELD_OUT * labels.n_users), MOST_HELD_OUT)
        held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
        self._rows, self._labels = rows[kept], labels.rows(kept)
        self._held_out, self._truth = rows[held], labels.rows(held)
        self._parts = embedded(base.exmlds, self._rows, self._labels)
        self._tried: dict[ItemsConfig, float] = {}

    def score(self, config: ItemsConfig) -> float:
        if config not in self._tried:
            exmlds = config.exmlds
            feature_map = mapping(exmlds, self._rows)
            space = fitted(exmlds, feature_map, self._rows, self._labels, self._parts)
            ids, _ = space.ranked(self._held_out, DEPTH)
            self._tried[config] = float(ndcg(hits(ids, self._truth), DEPTH).mean())
        return self._tried[config]


def _drawn(
    features: Any, liked: Interactions, seed: int, most: int = MOST_USERS
) -> tuple[Any, Interactions]:
    """Return at most ``most`` users with features and liked items."""
    described = np.diff(features.indptr) > 0
    chosen = _some(np.flatnonzero(described & (liked.user_counts > 0)), most, seed)
    return features[chosen], liked.rows(chosen)


def _some(users: I64, most: int, seed: int) -> I64:
    """Return at most so many of the users, always the same ones for one seed."""
    if users.size <= most:
        return users
    rng = np.random.default_rng([seed, 10])
    return np.sort(rng.choice(users, most, replace=False))


def _item_weights(space: LabelSpace, labels: Interactions, item_features: Any) -> F32:
    """Return V that maps items' features close to their factors."""
    known = np.flatnonzero(labels.item_counts)
    mapped: Any = FeatureMap().transform(item_features)
    return ridge(mapped[known], space.label_factors[0][known], RIDGE).astype(np.float32)
