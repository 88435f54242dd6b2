"""The weights of several rankers, learned from what users then do.

A ranker is an expert; its loss at an event is 1 less the reciprocal rank that it had given the item the user took.
Hedge with fixed share turns losses into weights, so that they follow a ranker that becomes better or worse. The best
weights after a few events differ from those after many: histories of about one length have weights of their own.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from core.types import F64

DEPTH = 100
"""How far a list is read: beyond it, a rank counts as none."""
RATE, SHARE = 0.3, 0.001
"""Of Hedge; see docs/explanation/mixture.md for how they were chosen."""
REMEMBERED = round(1.0 / SHARE)
"""Judgements after which Hedge has forgotten how it began."""
LENGTHS = (0, 5, 20)
"""Preferences from which on a history is of the next length; see docs/explanation/mixture.md for how they were chosen."""


def reciprocal_rank(rank: int) -> float:
    """Return 1 / rank, 0 beyond DEPTH; rank 0 means that the ranker could not rank the item."""
    return 1.0 / rank if 0 < rank <= DEPTH else 0.0


def ndcg10(rank: int) -> float:
    """Return the discounted gain of one wanted item at this rank, 0 beyond 10."""
    return float(1.0 / np.log2(1.0 + rank)) if 0 < rank <= 10 else 0.0


def hedge(weights: Mapping[str, float], gains: Mapping[str, float]) -> dict[str, float]:
    """Return the weights after one event; ``gains`` are the rankers' reciprocal ranks.

    Who has no gain had no list: it sleeps and keeps its weight, the others share out theirs.

    Equation   w = w exp(-rate (1 - gain)), normalised; w = (1 - share) w + share / m   [Herbster and Warmuth 1998]
    """
    names = list(weights)
    old: F64 = np.array([weights[name] for name in names])
    awake = np.array([name in gains for name in names])
    new = old * np.exp(RATE * np.array([gains.get(name, 1.0) - 1.0 for name in names]))
    new[awake] *= old[awake].sum() / new[awake].sum()
    new = (1.0 - SHARE) * new / new.sum() + SHARE / len(names)
    return dict(zip(names, new.tolist(), strict=True))


@dataclass(frozen=True)
class Weights:
    """What each ranker weighs: by all judgements, and by those of users with about as long a history."""

    shared: Mapping[str, float] = field(default_factory=dict)
    by_length: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """By the least of LENGTHS; a length that nobody has judged is not here."""

    def of(self, n: int) -> Mapping[str, float]:
        """Return the weights for a history of n preferences, the shared ones where no such history was judged.

        >>> Weights({"fbgd": 0.7, "popular": 0.3}, {0: {"fbgd": 0.4, "popular": 0.6}}).of(4)["popular"]
        0.6
        """
        return self.by_length.get(length(n), self.shared)

    def after(self, n: int, gains: Mapping[str, float]) -> "Weights":
        """Return the weights after one event of a user with n preferences; see ``hedge``."""
        own = hedge(self.of(n), gains)
        return Weights(hedge(self.shared, gains), {**self.by_length, length(n): own})


def length(n: int) -> int:
    """Return of which of LENGTHS a history of n preferences is."""
    return LENGTHS[bisect_right(LENGTHS, n) - 1]


def foreseen(gains: Mapping[str, float]) -> dict[str, float]:
    """Return the weights that rankers with these mean gains would have after REMEMBERED events, none of them asleep.

    >>> {name: round(w, 2) for name, w in foreseen({"fbgd": 0.01, "popular": 0.0}).items()}
    {'fbgd': 0.84, 'popular': 0.16}
    """
    weights = dict.fromkeys(gains, 1.0 / max(len(gains), 1))
    for _ in range(REMEMBERED if len(gains) > 1 else 0):
        weights = hedge(weights, gains)
    return weights
