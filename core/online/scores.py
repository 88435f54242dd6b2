"""Ranking with the online model: scores all items for one user.

It reads narrow rows, which hold the parameters without the accumulators.
"""

from typing import NamedTuple

import numpy as np

from core.kernels import online_scores as kernels
from core.kernels.aggregate import RESIDUAL_PRIOR
from core.online.aggregators import Formula
from core.online.group import Place
from core.online.tables import COUNT, FIRST_GROUP_COLUMN, RESIDUAL_SUM, RESIDUAL_WEIGHT
from core.types import F32, I64


class _Columns(NamedTuple):
    bias: I64
    first: I64
    rank: I64


class Scorer:
    """Knows the columns of the parameters, both in whole rows and in narrow ones."""

    def __init__(self, places: list[Place], bounds: tuple[float, float]) -> None:
        """``bounds`` are those of an expert's prediction."""
        self._bounds = bounds
        head = list(range(FIRST_GROUP_COLUMN))
        columns, bias, first = head, [], []
        for place in places:
            bias.append(-1 if place.bias is None else len(columns))
            columns += [] if place.bias is None else [place.bias]
            first.append(len(columns))
            columns += range(place.factors, place.factors + place.rank)
        self.columns: I64 = np.array(columns, dtype=np.int64)
        """Columns of a whole row that a narrow one keeps.

        In this order: fingerprint, count, residuals, then bias and factors of every expert.
        """
        rank = [place.rank for place in places]
        self._places = _Columns(*(np.array(column, np.int64) for column in (bias, first, rank)))

    def item_part(self, items: F32, formula: Formula) -> F32:
        """Return the contribution of item rows (n, w) to their scores, (n,), for any user."""
        part = formula.item_count * (np.log1p(items[:, COUNT]) / 4.0 - 1.0)
        return (part + formula.item_residual * _residual(items)).astype(np.float32)

    def scores(
        self,
        user: F32,
        items: F32,
        mean: float,
        formula: Formula,
        item_part: F32,
    ) -> F32:
        """Return the scores (n,) of narrow item rows (n, w) for one narrow user row (w,)."""
        out = np.empty(len(items), np.float32)
        user_part = formula.constant + formula.user_count * (np.log1p(user[COUNT]) / 3.0 - 1.0)
        user_part += formula.user_residual * _residual(user)
        kernels.online_scores(
            user,
            items,
            mean,
            *self._places,
            *self._bounds,
            formula.parts,
            formula.slope,
            formula.curvature,
            float(user_part),
            item_part,
            out,
        )
        return out


def _residual(rows: F32) -> F32:
    """Return the mean residuals of rows (..., w)."""
    residual: F32 = rows[..., RESIDUAL_SUM] / (rows[..., RESIDUAL_WEIGHT] + RESIDUAL_PRIOR)
    return residual
