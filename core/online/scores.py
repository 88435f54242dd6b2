"""Ranking with the online model: all items scored for one user, from rows of parameters without accumulators."""

from typing import NamedTuple

import numpy as np

from core.kernels import online_scores
from core.online.aggregators import Aggregator
from core.online.group import Place
from core.online.tables import FIRST_GROUP_COLUMN
from core.types import F32, F64, I64

BLOCK = 8_192
"""Items scored together: their predictions stay in the cache until they are one."""


class _Columns(NamedTuple):
    bias: I64
    first: I64
    rank: I64


class Scorer:
    """Knows where the parameters stand: in whole rows, and in the narrow ones that it scores."""

    def __init__(self, places: list[Place]) -> None:
        head = list(range(FIRST_GROUP_COLUMN))
        columns, bias, first = head, [], []
        for place in places:
            bias.append(-1 if place.bias is None else len(columns))
            columns += [] if place.bias is None else [place.bias]
            first.append(len(columns))
            columns += range(place.factors, place.factors + place.rank)
        self.columns: I64 = np.array(columns, dtype=np.int64)
        """Of a whole row: fingerprint, count, residuals, then bias and factors of every expert."""
        rank = [place.rank for place in places]
        self._places = _Columns(*(np.array(column, np.int64) for column in (bias, first, rank)))

    def scores(
        self,
        user: F32,
        items: F32,
        mean: float,
        bounds: tuple[float, float],
        aggregator: Aggregator,
    ) -> F64:
        """Return the scores (n,) of narrow item rows (n, w) for one narrow user row (w,)."""
        n_experts = len(self._places.rank)
        scores = np.empty(len(items))
        for at in range(0, len(items), BLOCK):
            part = items[at : at + BLOCK]
            clipped, known = np.empty((len(part), n_experts)), np.empty((len(part), 5))
            online_scores.expert_scores(user, part, mean, *self._places, *bounds, clipped, known)
            out = np.empty((len(part), 2))
            aggregator.predict(clipped, known, out, bounded=False)
            scores[at : at + BLOCK] = out[:, 0]
        return scores
