"""Scores of a ranker as signals: numbers that a logit can add up."""

import numpy as np

from core.types import F32

SIGNALS = ("score", "log score", "no score")
"""A score counts in three ways; the fit decides which of them matter for a ranker."""
FLOOR = 0.01
"""Share of the largest score below which the logarithm falls very little."""


def signals_of_scores(scores: F32) -> F32:
    """Return the signals (items, 3) of n scores; -inf: the ranker cannot score the item.

    Equation   score s · log(0.01 + max(s, 0) / max over the items of s) · [s <= 0]

    The logarithm makes a product of experts of several rankers; relative to the largest score, it
    has no unit. Adding a constant to the signals of all items changes no order.

    >>> signals_of_scores(np.array([2.0, 0.0, -np.inf], np.float32))[:, [0, 2]].tolist()
    [[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    known = np.where(np.isfinite(scores), scores, 0.0).astype(np.float32)
    positive = np.maximum(known, 0.0)
    top = float(positive.max(initial=0.0))
    share = positive / top if top > 0.0 else positive
    found = np.empty((known.size, len(SIGNALS)), np.float32)
    found[:, 0], found[:, 1], found[:, 2] = known, np.log(FLOOR + share), known <= 0.0
    return found
