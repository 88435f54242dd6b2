"""An ordered answer: who asks, which ranker, from which items; then the best of them.

Pure but for the clock it is given: nothing here waits or reads. ``recommender.py`` gathers what goes in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from core.batch.preferences import Preferences
from core.types import F32, I32
from service.rec_ids import Strategy
from service.serving.rankers import (
    NOTHING,
    Asker,
    FoldIn,
    Order,
    Pool,
    Ranked,
    Ranker,
    blended,
    chosen,
)

_NONE: F32 = np.empty(0, np.float32)
NOBODY = Asker(Preferences(NOTHING, _NONE, _NONE, NOTHING))
"""Somebody of whom nothing is known."""


@dataclass(frozen=True, eq=False)
class Lineup:
    """What ranks at one moment."""

    models: Mapping[Strategy, Ranker]
    """The rankers that may know an asker: the active models, the online model."""
    popular: Order
    trending: Order
    weights: Mapping[str, float] = field(default_factory=dict)
    """Of the mixture."""

    @property
    def n_items(self) -> int:
        """Return how many items are known to rankers: the first so many."""
        rankers: list[Ranker] = [self.popular, *self.models.values()]
        return max(ranker.n_items for ranker in rankers)

    @property
    def effort(self) -> int:
        """Return about how many multiplications a slate takes at most."""
        return max((ranker.effort for ranker in self.models.values()), default=0)


@dataclass(frozen=True)
class Wanted:
    """How a slate is to be made."""

    k: int
    offset: int = 0
    model: Strategy | None = None
    blend: float = 0.0


class Pick(NamedTuple):
    """One item of a slate."""

    item: int
    score: float
    strategy: Strategy


@dataclass(frozen=True)
class Slate:
    """The best items, in order, and what ranked them."""

    picks: Sequence[Pick]
    skipped: Sequence[int]
    """Items before the first one of it (``Wanted.offset``)."""
    strategy: Strategy
    version: str
    versions: Mapping[str, str]
    """Of the models in it, by strategy."""
    trained_through: Mapping[int, int]
    reason: str | None
    """Why it is not the strategy that was asked for, or not personal."""
    more: bool
    """Whether items may be left."""


def ranker_for(lineup: Lineup, asker: Asker, model: Strategy | None) -> tuple[Ranker, str | None]:
    """Return what ranks for this asker, and why if it is not what was asked for."""
    if model in {"popular", "trending"}:
        return (lineup.popular if model == "popular" else lineup.trending), None
    if model is not None and model not in lineup.models:
        reason = f"no model of the strategy {model} is active: train one (POST /v1/retrain)"
        return _first(lineup, asker) or lineup.popular, reason
    wanted = lineup.models if model is None else {model: lineup.models[model]}
    for ranker in wanted.values():
        if ranker.knows(asker):
            return ranker, None
    if not lineup.models:
        return lineup.popular, "no model is active yet: train one (POST /v1/retrain)"
    reason = "nothing that the model could use is known of this user yet"
    return _first(lineup, asker) or lineup.popular, reason


def _first(lineup: Lineup, asker: Asker) -> Ranker | None:
    return next((ranker for ranker in lineup.models.values() if ranker.knows(asker)), None)


def slate(lineup: Lineup, asker: Asker, pool: Pool, wanted: Wanted) -> Slate:
    """Return the best items of the pool for this asker."""
    ranker, reason = ranker_for(lineup, asker, wanted.model)
    n = wanted.offset + wanted.k
    item, score = _ranked(ranker, lineup, asker, pool, wanted.blend, n)
    picks = _picks(item, score, ranker.strategy)
    if len(picks) < n and not isinstance(ranker, Order):
        # what the model does not know yet comes after what it knows
        rest = lineup.popular.best(asker, pool.without(np.sort(item)), n - len(picks))
        picks += _picks(*rest, "popular")
    return _slate(ranker, picks, wanted, reason)


def _slate(
    ranker: Ranker, picks: Sequence[Pick], wanted: Wanted, reason: str | None = None
) -> Slate:
    return Slate(
        picks[wanted.offset :],
        [pick.item for pick in picks[: wanted.offset]],
        ranker.strategy,
        ranker.version,
        {} if isinstance(ranker, Order) else {ranker.strategy: ranker.version},
        ranker.trained_through,
        reason,
        len(picks) == wanted.offset + wanted.k,
    )


def similar(lineup: Lineup, item: int, pool: Pool, wanted: Wanted) -> Slate:
    """Return the items of the pool that are most like an item; who likes it likes them."""
    asked = lineup.models.values() if wanted.model is None else [lineup.models.get(wanted.model)]
    n = wanted.offset + wanted.k
    for ranker in asked:
        if isinstance(ranker, FoldIn) and ranker.has(item):
            return _slate(ranker, _picks(*ranker.similar(item, pool, n), ranker.strategy), wanted)
    reason = "no active model knows this item: train one (POST /v1/retrain) once it has feedback"
    picks = _picks(*lineup.popular.best(NOBODY, pool, n), "popular")
    return _slate(lineup.popular, picks, wanted, reason)


def _ranked(
    ranker: Ranker, lineup: Lineup, asker: Asker, pool: Pool, blend: float, n: int
) -> Ranked:
    online = lineup.models.get("online")
    if blend and online is not None and isinstance(ranker, FoldIn):
        return chosen(blended(ranker.scores(asker), online.scores(asker), blend), pool, n)
    return ranker.best(asker, pool, n)


def _picks(item: I32, score: F32, strategy: Strategy) -> list[Pick]:
    return [
        Pick(number, value, strategy)
        for number, value in zip(item.tolist(), score.tolist(), strict=True)
    ]
