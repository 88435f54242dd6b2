"""Stars for single pairs: how likely each level is, by the documents as they are now."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.features import of_item
from core.types import F32, F64, I64
from service.errors import Conflict
from service.ranking.families import FAMILIES
from service.ranking.ranker import StarModel
from service.ranking.reasons import inactive
from service.ranking.strategies import ONLINE
from service.serving.lineups import Lineups
from service.store.catalogue.documents import Catalogue
from service.store.catalogue.numbers import ItemNumbers

TAIL = 0.1
"""Probability beyond each end of the interval."""

_STRATEGY = next(name for name, family in FAMILIES.items() if family.predicts_stars)


@dataclass(frozen=True, eq=False)
class StarsFound:
    """n predictions in the order of the pairs."""

    model: StarModel
    level: I64
    """(n,) from 1."""
    probabilities: F64
    """(n, levels)"""
    expected: F64
    """On the scale of the ratings, like the bounds."""
    low: F64
    high: F64
    user_known: NDArray[np.bool_]
    """Whether the model knows a feature of the user."""
    item_known: NDArray[np.bool_]


class StarPredictions:
    """Answers with the active ordinal model; Conflict where there is none."""

    def __init__(self, lineups: Lineups, numbers: ItemNumbers, catalogue: Catalogue) -> None:
        self._lineups, self._numbers, self._catalogue = lineups, numbers, catalogue

    async def predict(self, users: Sequence[str], items: Sequence[str]) -> StarsFound:
        """Predict n pairs; a user or item without features is predicted like a typical one."""
        model = self._lineups.current(None).star_model
        if model is None:
            raise Conflict(f"{inactive(_STRATEGY)}, or ask for `{ONLINE}`")
        numbers = await self._numbers.lookup(items)
        known = [number for number in numbers if number is not None]
        found = dict(zip(known, await self._catalogue.items(known), strict=True))
        described = await self._catalogue.users(users)
        rows = model.users.transform([(one.body or {}).get("features", {}) for one in described])
        bodies = [{} if n is None else found[n].body or {} for n in numbers]
        columns = model.items.transform([of_item(body) for body in bodies])
        return _found(model, _Pairs(rows, columns))


class _Pairs:
    """n pairs by their features, and of which of them the model knows some."""

    def __init__(self, users: Any, items: Any) -> None:
        self.users, self.items = users, items
        self.user_known = np.diff(users.indptr) > 0
        self.item_known = np.diff(items.indptr) > 0


def _found(model: StarModel, pairs: _Pairs) -> StarsFound:
    stars = model.stars
    levels, values = stars.model.levels, stars.values
    scores = stars.of_pairs(pairs.users, pairs.items)
    probabilities = levels.probabilities(scores)
    for strange, others in _strangers(model, pairs):
        # whoever it is: it may be any of those, so the range is at least as wide as theirs
        scores[strange] = others.mean(axis=1)
        each = levels.probabilities(others.ravel()).reshape(*others.shape, values.size)
        probabilities[strange] = each.mean(axis=1)
    until = np.cumsum(probabilities, axis=1)
    last = values.size - 1
    # the level at which so much is reached: rounding may leave the sum below 1
    low, high = (np.minimum((until < share).sum(axis=1), last) for share in (TAIL, 1.0 - TAIL))
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


def _strangers(model: StarModel, pairs: _Pairs) -> Iterator[tuple[I64, F64]]:
    """Yield pairs with an unknown side, and their scores (pairs, others) for typical others."""
    stars, offset = model.stars, model.stars.model.offset
    known, described = pairs.user_known, pairs.item_known
    users, items = model.typical_users, model.typical_items
    if (at := np.flatnonzero(~known & described)).size:
        yield at, _scores(stars.vectors_of(pairs.items[at]), users, offset)
    if (at := np.flatnonzero(known & ~described)).size:
        yield at, _scores(stars.user_vectors(pairs.users[at]), items, offset)
    if (at := np.flatnonzero(~known & ~described)).size:
        yield at, np.repeat(_scores(users, items, offset).reshape(1, -1), at.size, axis=0)


def _scores(some: F32, others: F32, offset: float) -> F64:
    return (some @ others.T).astype(np.float64) - offset
