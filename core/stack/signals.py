"""Scores of a ranker as signals: numbers that a logit can add up."""

import numpy as np

from core.kernels import candidates as kernels
from core.types import F32

SIGNALS = ("score", "log score", "no score")
"""A score counts in three ways; the fit decides which of them matter for a ranker."""
POPULAR, LIKES = "popular: log score", "content: log likes"
"""How likely an item is for everybody, by the weights of events and by the number of people."""
BY_BAYES = (LIKES, "content: log affinity")
"""The logarithm of how likely an item is for everybody, and of how much likelier for this user: by
Bayes' rule their sum is that of how likely it is for this user."""


def signals_of_scores(scores: F32) -> F32:
    """Return the signals (items, 3) of n scores; -inf: the ranker cannot score the item.

    Equation   score s · log(0.01 + max(s, 0) / max over the items of s) · [s <= 0]

    Below a share of 0.01 of the largest score the logarithm hardly falls any more. It makes a
    product of experts of several rankers; relative to the largest score, it has no unit. Adding a
    constant to the signals of all items changes no order.

    >>> signals_of_scores(np.array([2.0, 0.0, -np.inf], np.float32))[:, [0, 2]].tolist()
    [[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    found = np.empty((scores.size, len(SIGNALS)), np.float32)
    kernels.signals(scores, found)
    return found
