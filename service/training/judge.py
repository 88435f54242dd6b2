"""How good models are for the users who judge: all items ranked, users folded in from what was known at the cut."""

from dataclasses import dataclass

import numpy as np

from core import ranking_metrics
from core.batch.ocmf_users import StructuredUsers
from core.batch.popularity import Popular
from core.batch.ranker import rank
from core.interactions import Interactions
from core.ranking_metrics import Hits
from core.types import F32, F64, I32
from service.training.dataset import Dataset

DEPTH = 20
GATE_DEPTH = 10
"""The gate compares ndcg at this depth."""


@dataclass(frozen=True)
class Verdict:
    """What the judges say of one model."""

    found: Hits

    @property
    def scores(self) -> F64:
        """Return each judge's score, (judges,)."""
        return ranking_metrics.ndcg(self.found, GATE_DEPTH)

    @property
    def metrics(self) -> dict[str, float]:
        """Return the means over all judges, none where nobody judges."""
        if self.found.wanted.size == 0:
            return {}
        return ranking_metrics.means(self.found, (GATE_DEPTH, DEPTH))


def judged(dataset: Dataset, users: StructuredUsers) -> Verdict:
    """Judge a model that may know fewer items than there are by now."""
    n_items = users.row.item_factors.shape[0]
    known = first_items(dataset.known.rows(dataset.judges.user_ix), n_items)
    vectors = users.row.vectors(known)
    return _verdict(dataset, vectors, users.row.item_factors)


def judged_popular(dataset: Dataset) -> Verdict:
    """Judge what everybody would get."""
    model = Popular().fit(dataset.known)
    ones = np.ones((dataset.judges.user_ix.size, 1), np.float32)
    return _verdict(dataset, ones, model.item_factors)


def _verdict(dataset: Dataset, vectors: F32, item_factors: F32) -> Verdict:
    judges = dataset.judges
    if judges.user_ix.size == 0:
        nothing = np.empty((0, DEPTH), np.bool_)
        return Verdict(Hits(nothing, np.empty(0, np.int64)))
    seen = first_items(judges.seen, item_factors.shape[0])
    ids: I32 = rank(vectors, np.ascontiguousarray(item_factors), seen, DEPTH)[0]
    return Verdict(ranking_metrics.hits(ids, judges.held))


def first_items(pairs: Interactions, n_items: int) -> Interactions:
    """Return the pairs of the first ``n_items`` items."""
    if n_items >= pairs.n_items:
        return pairs
    kept = pairs.keep(pairs.item_ix < n_items)
    return Interactions(n_items, kept.ptr, kept.item_ix, kept.weight, kept.target)
