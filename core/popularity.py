"""How popular items are, in all and lately: rows of evidence by item, and the orders they give.

The orders need no clock. ``core.counters`` counts the evidence.
"""

from collections.abc import Sequence

import numpy as np

from core.meaning import Mask
from core.types import F32, F64, I32

TOTAL, RECENT, TIME = range(3)
"""Columns of a row: weight in all, decayed weight as of TIME, time of the newest event in ms."""
WIDTH = 3
"""Columns of a row."""


def popular(rows: F64) -> tuple[I32, F32]:
    """Return the items with any evidence, most first, and how much (n,).

    >>> popular(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.5, 0.0]]))[0]
    array([2, 0], dtype=int32)
    """
    return _ordered(rows[:, TOTAL], rows[:, TOTAL] > 0.0)


def trending(rows: F64, half_life_ms: float) -> tuple[I32, F32]:
    """Return the items by their decayed evidence, most first, and how much as of the newest event (n,).

    Equation   order by log2 recent + T / half life: the same at every moment, so that no clock is needed
    """
    known = rows[:, RECENT] > 0.0
    newest = float(rows[known, TIME].max(initial=0.0))
    with np.errstate(divide="ignore"):
        level = np.log2(rows[:, RECENT]) + (rows[:, TIME] - newest) / half_life_ms
    items, order = _ordered(level, known)
    return items, np.exp2(order)


def joined(parts: Sequence[F64], half_life_ms: float) -> F64:
    """Return the rows (items, 3) that one counter of all events would have; parts may differ in length."""
    rows = np.zeros((max(map(len, parts), default=0), WIDTH))
    rows[:, TIME] = -np.inf
    for part in parts:
        known = np.flatnonzero(part[:, RECENT] > 0.0)
        rows[known, TIME] = np.maximum(rows[known, TIME], part[known, TIME])
    for part in parts:
        rows[: len(part), TOTAL] += part[:, TOTAL]
        known = np.flatnonzero(part[:, RECENT] > 0.0)
        age = (rows[known, TIME] - part[known, TIME]) / half_life_ms
        rows[known, RECENT] += part[known, RECENT] * np.exp2(-age)
    rows[:, TIME] = np.where(rows[:, RECENT] > 0.0, rows[:, TIME], 0.0)
    return rows


def _ordered(score: F64, known: Mask) -> tuple[I32, F32]:
    """Return the known items by score; ties by item number."""
    items = np.flatnonzero(known)
    order = np.argsort(-score[items], kind="stable")
    best = items[order]
    return best.astype(np.int32), score[best].astype(np.float32)
