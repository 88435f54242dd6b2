"""Fit: item vectors from all pairs by fBGD, then the places that documents give the items.

Vectors of texts take part where items that a regression has not seen are placed better with them.
"""

from dataclasses import replace

import numpy as np

from core.batch.content.affinity import features_of, shares_of
from core.batch.content.affinity_fit import fit_affinity
from core.batch.content.config import ContentConfig
from core.batch.content.encoder import Described
from core.batch.content.model import Content, standing_in
from core.batch.content.places import Placed, place
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.fbgd.search import rough
from core.batch.row_objective import RowObjective
from core.errors import DataError, ShapeError
from core.interactions import Interactions
from core.types import F64


def fit(pairs: Interactions, described: Described, config: ContentConfig) -> Content:
    """Return the content of items, in the space of a factorisation of all pairs."""
    if described.rows.shape[0] != pairs.n_items:
        raise ShapeError(f"{described.rows.shape[0]} documents for {pairs.n_items} items")
    liked = pairs.liked
    if not len(liked):
        raise DataError("there are no likes to learn from: give pairs with a target above 0")
    usual = rough(pairs)
    settings = replace(FbgdConfig(seed=config.seed), **usual)
    settings = replace(settings, factors=min(config.factors, settings.factors))
    row = Fbgd(settings).fit(pairs).fitted
    evidence = liked.item_counts.astype(float)
    used, placed = _placed(described, row, evidence, config)
    plain = used.without_texts
    feature = features_of(used.encoder)
    return Content(
        standing_in(row, placed.places),
        placed.places,
        plain.rows,
        placed.map,
        used.encoder,
        fit_affinity(liked, shares_of(plain.rows, feature), feature),
        evidence.astype(np.float32),
    )


def _placed(
    described: Described, row: RowObjective, evidence: F64, config: ContentConfig
) -> tuple[Described, Placed]:
    """Return the places by what describes items best, with vectors of texts or without."""
    plain = described.without_texts
    placed = _place(plain, row, evidence, config)
    if described.encoder.texts is None:
        return plain, placed
    with_texts = _place(described, row, evidence, config)
    # with too few items to leave some out, both errors are NaN
    return (described, with_texts) if with_texts.error < placed.error else (plain, placed)


def _place(described: Described, row: RowObjective, evidence: F64, config: ContentConfig) -> Placed:
    vectors, ridge = row.item_factors, config.ridge
    return place(described.rows, vectors, evidence, ridge=ridge, seed=config.seed)
