"""Popular and trending items: rows of evidence by item, and the orders that follow from them.

No order needs a clock. ``core.counters`` counts the evidence.
"""

from collections.abc import Sequence

import numpy as np

from core.meaning import Mask
from core.types import F32, F64, I32

TOTAL, RECENT, TIME = range(3)
"""Columns of a row: total weight, decayed weight as of TIME, time of the newest event in ms."""
WIDTH = 3
"""Number of columns of a row."""


def popular(rows: F64) -> tuple[I32, F32]:
    """Return the items with evidence, those with most first, and the evidence of each (n,).

    >>> popular(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.5, 0.0]]))[0]
    array([2, 0], dtype=int32)
    """
    return _ordered(rows[:, TOTAL], rows[:, TOTAL] > 0.0)


def trending(rows: F64, half_life_ms: float) -> tuple[I32, F32]:
    """Return the items by decayed evidence, most first, and that evidence at the newest event (n,).

    Equation   order by log2 recent + T / half life, which is the same order at every moment
    """
    counted = rows[:, RECENT] > 0.0
    newest = float(rows[counted, TIME].max(initial=0.0))
    with np.errstate(divide="ignore"):
        level = np.log2(rows[:, RECENT]) + (rows[:, TIME] - newest) / half_life_ms
    items, order = _ordered(level, counted)
    return items, np.exp2(order)


def dated(rows: F64, until_ms: float) -> F64:
    """Return a copy of the rows without the recent evidence of items that a bad clock has dated.

    All that was counted before such an event has decayed to nothing; the next event begins anew.

    >>> dated(np.array([[3.0, 1.0, 9e15], [2.0, 1.5, 40.0]]), 100.0)[:, RECENT].tolist()
    [0.0, 1.5]
    """
    found = rows.copy()
    found[rows[:, TIME] > until_ms, RECENT:] = 0.0
    return found


def joined(parts: Sequence[F64], half_life_ms: float) -> F64:
    """Return the rows (items, 3) of one counter of all events; the parts may differ in length."""
    rows = np.zeros((max(map(len, parts), default=0), WIDTH))
    rows[:, TIME] = -np.inf
    for part in parts:
        items = np.flatnonzero(part[:, RECENT] > 0.0)
        rows[items, TIME] = np.maximum(rows[items, TIME], part[items, TIME])
    for part in parts:
        rows[: len(part), TOTAL] += part[:, TOTAL]
        items = np.flatnonzero(part[:, RECENT] > 0.0)
        age = (rows[items, TIME] - part[items, TIME]) / half_life_ms
        rows[items, RECENT] += part[items, RECENT] * np.exp2(-age)
    rows[:, TIME] = np.where(rows[:, RECENT] > 0.0, rows[:, TIME], 0.0)
    return rows


def _ordered(score: F64, counted: Mask) -> tuple[I32, F32]:
    """Return the counted items by score; ties are broken by item number."""
    items = np.flatnonzero(counted)
    order = np.argsort(-score[items], kind="stable")
    best = items[order]
    return best.astype(np.int32), score[best].astype(np.float32)
