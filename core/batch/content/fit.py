"""Fit: item vectors from all pairs by fBGD, then the places that documents give the items."""

from dataclasses import replace

from core.batch.content.config import ContentConfig
from core.batch.content.encoder import Described
from core.batch.content.model import Content, standing_in
from core.batch.content.places import place
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.fbgd.search import rough
from core.errors import DataError, ShapeError
from core.interactions import Interactions


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
    placed = place(described.rows, row.item_factors, evidence, ridge=config.ridge, seed=config.seed)
    return Content(
        standing_in(row, placed.places),
        placed.places,
        described.rows,
        placed.map,
        described.encoder,
    )
