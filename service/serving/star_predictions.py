"""Stars for single pairs: how likely each level is, by the documents as they are now."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.features import of_item
from core.types import F64, I64
from service.errors import Conflict
from service.serving.lineup import Lineups
from service.serving.star_ranker import Starred
from service.store.catalogue import Catalogue
from service.store.numbers import ItemNumbers

TAIL = 0.1
"""Of the interval, at each end."""


@dataclass(frozen=True, eq=False)
class StarsFound:
    """n predictions in the order of the pairs."""

    model: Starred
    level: I64
    """(n,) from 1."""
    probabilities: F64
    """(n, levels)"""
    expected: F64
    """On the scale of the ratings, like the bounds."""
    low: F64
    high: F64


class StarPredictions:
    """Answers with the active ordinal model; Conflict where there is none."""

    def __init__(self, lineups: Lineups, numbers: ItemNumbers, catalogue: Catalogue) -> None:
        self._lineups, self._numbers, self._catalogue = lineups, numbers, catalogue

    async def predict(self, users: Sequence[str], items: Sequence[str]) -> StarsFound:
        """Predict n pairs; of what has no document the model knows nothing, and says what is usual."""
        model = self._lineups.current(None).models.get("ordinal")
        if not isinstance(model, Starred):
            raise Conflict(
                "no model of the strategy ordinal is active: train one (POST /v1/retrain), "
                "or ask for `online`"
            )
        numbers = await self._numbers.lookup(items)
        known = [number for number in numbers if number is not None]
        found = dict(zip(known, await self._catalogue.items(known), strict=True))
        described = await self._catalogue.users(users)
        rows = model.users.transform([(one.body or {}).get("features", {}) for one in described])
        bodies = [{} if n is None else found[n].body or {} for n in numbers]
        columns = model.items.transform([of_item(body) for body in bodies])
        return _found(model, model.stars.of_pairs(rows, columns))


def _found(model: Starred, scores: F64) -> StarsFound:
    stars = model.stars
    levels, values = stars.model.levels, stars.values
    probabilities = levels.probabilities(scores)
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
    )
