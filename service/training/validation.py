"""Validation: how well models rank all items for held-out users.

Users are known by their pairs before the cut (fold-in) or by their features.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from core import ranking_metrics
from core.batch.popularity import Popular
from core.interactions import Interactions
from core.ranking_metrics import Hits
from core.types import F32, F64, I32, I64
from service.ranking.pool import Pool, chosen
from service.training.answers import Answers, Asked, UserVectors
from service.training.data.dataset import Dataset, HeldOut

DEPTH = 20
GATE_DEPTH = 10
"""The gate compares ndcg at this depth."""
MOST_WITH_FEATURES = 4_000
"""Most held-out users for a model that scores all items again for each set of features."""
_EVERY = np.empty(0, np.bool_)
"""Empty mask: every item may be listed."""


@dataclass(frozen=True)
class Validation:
    """The ranking metrics of one model for the held-out users."""

    found: Hits
    """One row for each held-out user, in each split."""
    more: Mapping[str, float] = field(default_factory=dict)
    """Other metrics of this kind of model, by name."""
    user_ix: I64 | None = None
    """The user of each row, if several splits were pooled."""

    @property
    def scores(self) -> F64:
        """Return the score of each held-out user, (users,); the mean of all splits."""
        scores = ranking_metrics.ndcg(self.found, GATE_DEPTH)
        if self.user_ix is None:
            return scores
        _, user, counts = np.unique(self.user_ix, return_inverse=True, return_counts=True)
        means: F64 = np.bincount(user, scores) / counts
        return means

    def lead(self, other: "Validation") -> float:
        """Return the lead over ``other`` in the mean reciprocal rank of held-out items."""
        ours, others = (ranking_metrics.reciprocal_ranks(one.found, DEPTH) for one in (self, other))
        return float((ours - others).mean())

    @property
    def metrics(self) -> dict[str, float]:
        """Return the means over all held-out users, if there are any, and the other metrics."""
        measured = self.found.wanted.size > 0
        means = ranking_metrics.means(self.found, (GATE_DEPTH, DEPTH)) if measured else {}
        return {**means, **self.more}


def pooled(parts: Sequence[Validation], splits: Sequence[Dataset]) -> Validation:
    """Return the validation of several splits as one; other metrics are those of the first."""
    if len(parts) == 1:
        return parts[0]
    found = Hits(
        np.concatenate([one.found.hit for one in parts]),
        np.concatenate([one.found.wanted for one in parts]),
    )
    users = np.concatenate([one.held_out.user_ix for one in splits])
    return Validation(found, parts[0].more, users)


def validated(dataset: Dataset, answers: Answers) -> Validation:
    """Validate a model by its lists; it may know fewer items than there are by now."""
    users = dataset.held_out.user_ix
    if users.size == 0:
        return of_lists(dataset, np.empty((0, DEPTH), np.int32))
    rows = (dataset.known.rows(users), dataset.held_out.seen)
    known, seen = (first_items(pairs, answers.n_items) for pairs in rows)
    return of_lists(dataset, answers.ranked(Asked(users, known, seen), DEPTH)[0])


def validated_popular(dataset: Dataset) -> Validation:
    """Validate popularity: the same list for every user."""
    model = Popular().fit(dataset.known)
    return validated(
        dataset, UserVectors(lambda users, rows: model.user_vectors(rows), model.item_factors)
    )


class ByFeatures(Protocol):
    """A model that knows users by their features alone."""

    def scores(self, features: Any) -> F32:
        """Return the scores of all items, (n, items); -inf for items that are never shown."""


def validated_by_features(dataset: Dataset, model: ByFeatures) -> Validation:
    """Validate a model that knows users by their features alone."""
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
    """Return the dataset with only those held-out users that have features, within the bound."""
    if dataset.encoded is None:
        return dataset
    held_out = dataset.held_out
    known = np.diff(dataset.encoded.features.indptr)[held_out.user_ix] > 0
    at = np.flatnonzero(known)[:MOST_WITH_FEATURES]
    kept = HeldOut(held_out.user_ix[at], held_out.seen.rows(at), held_out.held.rows(at))
    return replace(dataset, held_out=kept)


def of_lists(dataset: Dataset, ids: I32) -> Validation:
    """Return the validation of these lists, (held-out users, DEPTH)."""
    if dataset.held_out.user_ix.size == 0:
        return Validation(Hits(np.empty((0, DEPTH), np.bool_), np.empty(0, np.int64)))
    return Validation(ranking_metrics.hits(ids, dataset.held_out.held))


def _best(scores: F32, seen: I32) -> I32:
    """Return the slate of a user who has seen these items, padded with -1 if items run out."""
    items, _ = chosen(scores, Pool(_EVERY, seen), DEPTH)
    return np.pad(items, (0, DEPTH - items.size), constant_values=-1)


def _items(pairs: Interactions, row: int) -> I32:
    return pairs.item_ix[pairs.ptr[row] : pairs.ptr[row + 1]]


def first_items(pairs: Interactions, n_items: int) -> Interactions:
    """Return the pairs of the first ``n_items`` items."""
    if n_items >= pairs.n_items:
        return pairs
    kept = pairs.keep(pairs.item_ix < n_items)
    return Interactions(n_items, kept.ptr, kept.item_ix, kept.weight, kept.target)
