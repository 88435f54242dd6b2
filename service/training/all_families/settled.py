"""Families with chosen settings: each fits the ranker that would serve to any material.

An evaluation and an order of all families rank by these, so both measure what would serve.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from core import popularity
from core.errors import DataError
from core.popularity import TOTAL, WIDTH
from core.snapshot import About
from core.transitions.successors import Successors
from core.transitions.table import Taken, Transitions, no_latest
from service.ranking.family import Family, Published
from service.ranking.ranker import Ranker
from service.ranking.strategies import NEXT, POPULAR, Strategy
from service.ranking.untrained.everybody import SharedList
from service.ranking.untrained.next_items import NextItems
from service.training.data.dataset import EncodedUsers
from service.training.data.material import Material
from service.training.recipe import ServedRecipe

_FOR_EVER_MS = 1e15
"""Half-life of what is counted in files: events of positions have no times to decay with."""
_ABOUT: About = {"settings": {}, "metrics": {}, "cuts": {}}


def _popular(family: Family, known: Material) -> Ranker:
    rows = np.zeros((known.pairs.n_items, WIDTH))
    liked = known.pairs.liked
    # by weights, like the learner; but that adds up all events of a pair, and of these only the
    # strongest kind and the latest rating are known here
    rows[:, TOTAL] = np.bincount(liked.item_ix, liked.weight, minlength=liked.n_items)
    return SharedList(family, popularity.popular(rows), {})


def _next(family: Family, known: Material) -> Ranker:
    steps = known.order
    if steps is None:
        raise DataError("the order of events is unknown: give their times")
    table, n = Transitions(_FOR_EVER_MS), steps.item_ix.size
    times = np.zeros(n, np.int64)
    taken = Taken(steps.user_ix, steps.item_ix, steps.weight, times)
    table.learn(taken, no_latest(steps.n_users))
    successors = Successors.of([table.counted()], now_ms=0.0)
    return NextItems(family, successors, family.strategy, {})


COUNTED: Mapping[Strategy, Callable[[Family, Material], Ranker]] = {
    POPULAR: _popular,
    NEXT: _next,
}
"""How rankers without training are made of events."""


def ranker_of(
    family: Family,
    recipe: ServedRecipe[Any],
    model: Any,
    encoded: EncodedUsers | None = None,
    through: Mapping[int, int] = MappingProxyType({}),
) -> Ranker:
    """Return the ranker that would serve a fitted model of a family.

    ``through`` has the sequence of the last event that the model has learned, by partition.
    """
    if family.read is None:
        raise ValueError(f"{family.strategy} is not trained")
    snapshot = recipe.snapshot(recipe.settings.name, model, encoded, _ABOUT)
    return family.read(family, Published(snapshot.version, snapshot, through))


@dataclass(frozen=True)
class Settled:
    """A family whose settings are chosen, so that it can be fitted to any part of the events."""

    family: Family
    recipe: ServedRecipe[Any] | None = None
    """None: the family is counted."""
    config: Any = None

    def ranker(self, known: Material) -> Ranker:
        """Return the ranker that serves after learning this material."""
        if self.recipe is None:
            return COUNTED[self.family.strategy](self.family, known)
        return ranker_of(self.family, self.recipe, self.recipe.fit(known, self.config))
