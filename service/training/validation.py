"""How well models rank for held-out users: all items ranked, users folded in from their pairs before the cut."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from core import ranking_metrics
from core.batch.ocmf.users import StructuredUsers
from core.batch.popularity import Popular
from core.batch.ranker import rank
from core.interactions import Interactions
from core.ranking_metrics import Hits
from core.types import F32, F64, I32
from service.ranking.pool import Pool, chosen
from service.training.dataset import Dataset, HeldOut

DEPTH = 20
GATE_DEPTH = 10
"""The gate compares ndcg at this depth."""
MOST_WITH_FEATURES = 4_000
"""Held-out users of a model that scores all items anew for each kind of user."""
_EVERY = np.empty(0, np.bool_)
"""Lets every item into a list."""


@dataclass(frozen=True)
class Validation:
    """The ranking metrics of one model for the held-out users."""

    found: Hits
    more: Mapping[str, float] = field(default_factory=dict)
    """Other metrics of this kind of model, by name."""

    @property
    def scores(self) -> F64:
        """Return each held-out user's score, (users,)."""
        return ranking_metrics.ndcg(self.found, GATE_DEPTH)

    def lead(self, other: "Validation") -> float:
        """Return the mean difference of the reciprocal ranks of the items that users took."""
        ours, others = (ranking_metrics.reciprocal_ranks(one.found, DEPTH) for one in (self, other))
        return float((ours - others).mean())

    @property
    def metrics(self) -> dict[str, float]:
        """Return the means over all held-out users, if there are any, and the other metrics."""
        measured = self.found.wanted.size > 0
        means = ranking_metrics.means(self.found, (GATE_DEPTH, DEPTH)) if measured else {}
        return {**means, **self.more}


def validated(dataset: Dataset, users: StructuredUsers) -> Validation:
    """Validate a model with fold-in; it may know fewer items than there are by now."""
    n_items = users.row.item_factors.shape[0]
    known = first_items(dataset.known.rows(dataset.held_out.user_ix), n_items)
    vectors = users.row.vectors(known)
    return _of_vectors(dataset, vectors, users.row.item_factors)


def validated_popular(dataset: Dataset) -> Validation:
    """Validate popularity, the same list for everybody."""
    model = Popular().fit(dataset.known)
    ones = np.ones((dataset.held_out.user_ix.size, 1), np.float32)
    return _of_vectors(dataset, ones, model.item_factors)


class ByFeatures(Protocol):
    """A model that knows nothing of users but their features."""

    def scores(self, features: Any) -> F32:
        """Return the scores of all items, (n, items); -inf: never shown."""


def validated_by_features(dataset: Dataset, model: ByFeatures) -> Validation:
    """Validate a model that knows nothing of users but their features."""
    held_out = dataset.held_out
    ids = np.full((held_out.user_ix.size, DEPTH), -1, np.int32)
    if dataset.encoded is not None:
        alike: dict[bytes, list[int]] = {}
        features: Any = dataset.encoded.features[held_out.user_ix]
        for at in range(held_out.user_ix.size):
            row = slice(features.indptr[at], features.indptr[at + 1])
            alike.setdefault(features.indices[row].tobytes(), []).append(at)
        for group in alike.values():
            [scores] = model.scores(features[group[:1]])
            for at in group:
                ids[at] = _best(scores, _items(held_out.seen, at))
    return of_lists(dataset, ids)


def with_features(dataset: Dataset) -> Dataset:
    """Return the dataset with those held-out users alone that have features, at most MOST_WITH_FEATURES."""
    if dataset.encoded is None:
        return dataset
    held_out = dataset.held_out
    known = np.diff(dataset.encoded.features.indptr)[held_out.user_ix] > 0
    at = np.flatnonzero(known)[:MOST_WITH_FEATURES]
    kept = HeldOut(held_out.user_ix[at], held_out.seen.rows(at), held_out.held.rows(at))
    return replace(dataset, held_out=kept)


def of_lists(dataset: Dataset, ids: I32) -> Validation:
    """Return the metrics of these lists, (held-out users, DEPTH)."""
    if dataset.held_out.user_ix.size == 0:
        return Validation(Hits(np.empty((0, DEPTH), np.bool_), np.empty(0, np.int64)))
    return Validation(ranking_metrics.hits(ids, dataset.held_out.held))


def _best(scores: F32, seen: I32) -> I32:
    """Return the list that a slate shows to a user who has seen these items, -1 where items run out."""
    items, _ = chosen(scores, Pool(_EVERY, seen), DEPTH)
    return np.pad(items, (0, DEPTH - items.size), constant_values=-1)


def _of_vectors(dataset: Dataset, vectors: F32, item_factors: F32) -> Validation:
    if dataset.held_out.user_ix.size == 0:
        return of_lists(dataset, np.empty((0, DEPTH), np.int32))
    seen = first_items(dataset.held_out.seen, item_factors.shape[0])
    return of_lists(dataset, rank(vectors, np.ascontiguousarray(item_factors), seen, DEPTH)[0])


def _items(pairs: Interactions, row: int) -> I32:
    return pairs.item_ix[pairs.ptr[row] : pairs.ptr[row + 1]]


def first_items(pairs: Interactions, n_items: int) -> Interactions:
    """Return the pairs of the first ``n_items`` items."""
    if n_items >= pairs.n_items:
        return pairs
    kept = pairs.keep(pairs.item_ix < n_items)
    return Interactions(n_items, kept.ptr, kept.item_ix, kept.weight, kept.target)
