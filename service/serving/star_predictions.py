"""Star predictions for single pairs: the probability of each level, from the current documents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.features import of_item
from core.types import F32, F64, I64
from service.errors import Conflict
from service.ranking.ranker import StarModel
from service.ranking.reasons import inactive
from service.ranking.strategies import ONLINE, Strategy
from service.serving.lineups import Lineups
from service.store.catalogue.documents import Catalogue
from service.store.catalogue.numbers import ItemNumbers

TAIL = 0.1
"""Probability beyond each end of the interval."""


@dataclass(frozen=True, eq=False)
class StarsFound:
    """n predictions in the order of the pairs."""

    model: StarModel
    level: I64
    """(n,) the predicted level, counted from 1."""
    probabilities: F64
    """(n, levels)"""
    expected: F64
    """(n,) the expected rating; like ``low`` and ``high`` on the scale of the ratings."""
    low: F64
    high: F64
    user_known: NDArray[np.bool_]
    """Whether the model knows a feature of the user."""
    item_known: NDArray[np.bool_]


class StarPredictions:
    """Predicts with the active model of a strategy; raises Conflict if there is none."""

    def __init__(self, lineups: Lineups, numbers: ItemNumbers, catalogue: Catalogue) -> None:
        self._lineups, self._numbers, self._catalogue = lineups, numbers, catalogue

    async def predict(
        self, strategy: Strategy, users: Sequence[str], items: Sequence[str]
    ) -> StarsFound:
        """Predict n pairs; a user or item without features counts as a typical one."""
        model = self._lineups.current(None).star_model(strategy)
        if model is None:
            raise Conflict(f"{inactive(strategy)}, or ask for `{ONLINE}`")
        numbers = await self._numbers.lookup(items)
        known = [number for number in numbers if number is not None]
        document_of = dict(zip(known, await self._catalogue.items(known), strict=True))
        documents = await self._catalogue.users(users)
        features = [(document.body or {}).get("features", {}) for document in documents]
        rows = model.users.transform(features)
        bodies = [{} if n is None else document_of[n].body or {} for n in numbers]
        columns = model.items.transform([of_item(body) for body in bodies])
        return _found(model, _Pairs(rows, columns))


class _Pairs:
    """The features of n pairs, and whether the model knows any of them."""

    def __init__(self, users: Any, items: Any) -> None:
        self.users, self.items = users, items
        self.user_known = np.diff(users.indptr) > 0
        self.item_known = np.diff(items.indptr) > 0


def _found(model: StarModel, pairs: _Pairs) -> StarsFound:
    stars = model.stars
    levels, values = stars.model.levels, stars.values
    scores = stars.of_pairs(pairs.users, pairs.items)
    probabilities = levels.probabilities(scores)
    for unknown, typical in _unknown_pairs(model, pairs):
        # average over typical ones, so that the interval also covers the spread between them
        scores[unknown] = typical.mean(axis=1)
        each = levels.probabilities(typical.ravel()).reshape(*typical.shape, values.size)
        probabilities[unknown] = each.mean(axis=1)
    cumulated = np.cumsum(probabilities, axis=1)
    last = values.size - 1
    # the level that reaches each share; at most the last, because rounding may leave a sum below 1
    low, high = (np.minimum((cumulated < share).sum(axis=1), last) for share in (TAIL, 1.0 - TAIL))
    return StarsFound(
        model,
        levels.level(scores),
        probabilities,
        probabilities @ values,
        values[low],
        values[high],
        pairs.user_known,
        pairs.item_known,
    )


def _unknown_pairs(model: StarModel, pairs: _Pairs) -> Iterator[tuple[I64, F64]]:
    """Yield pairs with an unknown side, and their scores (pairs, n) with n typical ones instead."""
    stars, offset = model.stars, model.stars.model.offset
    user_known, item_known = pairs.user_known, pairs.item_known
    users, items = model.typical_users, model.typical_items
    if (at := np.flatnonzero(~user_known & item_known)).size:
        yield at, _scores(stars.vectors_of(pairs.items[at]), users, offset)
    if (at := np.flatnonzero(user_known & ~item_known)).size:
        yield at, _scores(stars.user_vectors(pairs.users[at]), items, offset)
    if (at := np.flatnonzero(~user_known & ~item_known)).size:
        yield at, np.repeat(_scores(users, items, offset).reshape(1, -1), at.size, axis=0)


def _scores(some: F32, others: F32, offset: float) -> F64:
    return (some @ others.T).astype(np.float64) - offset
