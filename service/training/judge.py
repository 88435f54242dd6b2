"""How good models are for the users who judge: all items ranked, users folded in from what was known at the cut."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from core import ranking_metrics
from core.batch.ocmf.users import StructuredUsers
from core.batch.popularity import Popular
from core.batch.ranker import rank
from core.interactions import Interactions
from core.kernels import scan
from core.ranking_metrics import Hits
from core.types import F32, F64, I32
from service.training.dataset import Dataset, Judges

DEPTH = 20
GATE_DEPTH = 10
"""The gate compares ndcg at this depth."""
MOST_DESCRIBED = 4_000
"""Judges of a model that scores all items anew for each kind of user."""


@dataclass(frozen=True)
class Verdict:
    """What the judges say of one model."""

    found: Hits
    more: Mapping[str, float] = field(default_factory=dict)
    """What is said of this kind of model besides, by name."""

    @property
    def scores(self) -> F64:
        """Return each judge's score, (judges,)."""
        return ranking_metrics.ndcg(self.found, GATE_DEPTH)

    def lead(self, other: "Verdict") -> float:
        """Return how much higher these lists hold what users took: the mean difference of the reciprocal ranks."""
        ours, others = (ranking_metrics.reciprocal_ranks(one.found, DEPTH) for one in (self, other))
        return float((ours - others).mean())

    @property
    def metrics(self) -> dict[str, float]:
        """Return the means over all judges, none of these where nobody judges, and what is said besides."""
        judged = self.found.wanted.size > 0
        means = ranking_metrics.means(self.found, (GATE_DEPTH, DEPTH)) if judged else {}
        return {**means, **self.more}


def judged(dataset: Dataset, users: StructuredUsers) -> Verdict:
    """Judge a model with fold-in that may know fewer items than there are by now."""
    n_items = users.row.item_factors.shape[0]
    known = first_items(dataset.known.rows(dataset.judges.user_ix), n_items)
    vectors = users.row.vectors(known)
    return _verdict(dataset, vectors, users.row.item_factors)


def judged_popular(dataset: Dataset) -> Verdict:
    """Judge what everybody would get."""
    model = Popular().fit(dataset.known)
    ones = np.ones((dataset.judges.user_ix.size, 1), np.float32)
    return _verdict(dataset, ones, model.item_factors)


class ByFeatures(Protocol):
    """A model that knows nothing of users but their features."""

    def scores(self, features: Any) -> F32:
        """Return the scores of all items, (n, items); -inf: never shown."""


def judged_by_features(dataset: Dataset, model: ByFeatures) -> Verdict:
    """Judge a model that knows nothing of users but their features."""
    judges = dataset.judges
    ids = np.full((judges.user_ix.size, DEPTH), -1, np.int32)
    if dataset.described is not None:
        alike: dict[bytes, list[int]] = {}
        features: Any = dataset.described.features[judges.user_ix]
        for at in range(judges.user_ix.size):
            row = slice(features.indptr[at], features.indptr[at + 1])
            alike.setdefault(features.indices[row].tobytes(), []).append(at)
        for group in alike.values():
            [scores] = model.scores(features[group[:1]])
            for at in group:
                _select(scores, judges.seen, at, ids[at])
    return verdict(dataset, ids)


def described_judges(dataset: Dataset) -> Dataset:
    """Return the dataset with those judges alone whose features are known, at most MOST_DESCRIBED."""
    if dataset.described is None:
        return dataset
    judges = dataset.judges
    known = np.diff(dataset.described.features.indptr)[judges.user_ix] > 0
    at = np.flatnonzero(known)[:MOST_DESCRIBED]
    kept = Judges(judges.user_ix[at], judges.seen.rows(at), judges.held.rows(at))
    return replace(dataset, judges=kept)


def verdict(dataset: Dataset, ids: I32) -> Verdict:
    """Return what the judges say of these lists, (judges, DEPTH)."""
    if dataset.judges.user_ix.size == 0:
        return Verdict(Hits(np.empty((0, DEPTH), np.bool_), np.empty(0, np.int64)))
    return Verdict(ranking_metrics.hits(ids, dataset.judges.held))


def _select(scores: F32, seen: Interactions, at: int, ids: I32) -> None:
    own = seen.item_ix[seen.ptr[at] : seen.ptr[at + 1]]
    n = min(ids.size, scores.size)
    scan.select(scores, own, np.empty(0, np.bool_), ids[:n], np.empty(n, np.float32))


def _verdict(dataset: Dataset, vectors: F32, item_factors: F32) -> Verdict:
    if dataset.judges.user_ix.size == 0:
        return verdict(dataset, np.empty((0, DEPTH), np.int32))
    seen = first_items(dataset.judges.seen, item_factors.shape[0])
    return verdict(dataset, rank(vectors, np.ascontiguousarray(item_factors), seen, DEPTH)[0])


def first_items(pairs: Interactions, n_items: int) -> Interactions:
    """Return the pairs of the first ``n_items`` items."""
    if n_items >= pairs.n_items:
        return pairs
    kept = pairs.keep(pairs.item_ix < n_items)
    return Interactions(n_items, kept.ptr, kept.item_ix, kept.weight, kept.target)
