"""The weights of several rankers, learned from what users do next.

Each ranker is an expert. Its loss at an event is 1 minus the reciprocal rank that it gave to the
item the user took. Hedge with fixed share turns losses into weights, so that the weights follow a
ranker that gets better or worse. The best weights for short histories differ from those for long
ones, so each range of history lengths has weights of its own.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.types import F64

DEPTH = 100
"""Ranks of a list that count; an item below them counts as not ranked."""
RATE, SHARE = 0.3, 0.001
"""Learning rate and fixed share of Hedge; measurements: docs/explanation/learned-weights.md."""
REMEMBERED = round(1.0 / SHARE)
"""Number of events after which the initial weights no longer matter."""
LENGTHS = (0, 5, 20)
"""Lower bounds of the ranges of history lengths, in preferences.

Measurements: docs/explanation/learned-weights.md.
"""


def reciprocal_rank(rank: int) -> float:
    """Return 1 / rank, or 0 beyond DEPTH; rank 0 means that the ranker did not rank the item."""
    return 1.0 / rank if 0 < rank <= DEPTH else 0.0


def ndcg10(rank: int) -> float:
    """Return ndcg@10 of a list whose only relevant item has this rank; rank 0: not in the list."""
    return float(1.0 / np.log2(1.0 + rank)) if 0 < rank <= 10 else 0.0


def hedge(weights: Mapping[str, float], gains: Mapping[str, float]) -> dict[str, float]:
    """Return the weights after one event; ``gains`` are the rankers' reciprocal ranks.

    A ranker without a gain had no list: it sleeps and keeps its weight; the total weight of the
    others is redistributed among them.

    Equation   w = w exp(-rate (1 - gain)), normalised; w = (1 - share) w + share / m
               [Herbster and Warmuth 1998]
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
    """The weight of each ranker: from all events, and for each range of history lengths."""

    shared: Mapping[str, float] = field(default_factory=dict)
    by_length: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """Keyed by the lower bound of the range; ranges without an event are missing."""
    lengths: tuple[int, ...] = LENGTHS
    """Lower bounds of all ranges."""

    def of(self, n: int) -> Mapping[str, float]:
        """Return the weights for a history of n preferences; shared ones if its range has no event.

        >>> weights = Weights({"fbgd": 0.7, "popular": 0.3}, {0: {"fbgd": 0.4, "popular": 0.6}})
        >>> weights.of(4)["popular"]
        0.6
        """
        return self.by_length.get(length(n, self.lengths), self.shared)

    def after(self, n: int, gains: Mapping[str, float]) -> "Weights":
        """Return the weights after one event of a user with n preferences; see ``hedge``."""
        of_class = hedge(self.of(n), gains)
        by_length = {**self.by_length, length(n, self.lengths): of_class}
        return Weights(hedge(self.shared, gains), by_length, self.lengths)


def length(n: int, lengths: Sequence[int] = LENGTHS) -> int:
    """Return the lower bound of the range that a history of n preferences belongs to."""
    return lengths[bisect_right(lengths, n) - 1]


def foreseen(gains: Mapping[str, float]) -> dict[str, float]:
    """Return the weights that constant gains lead to after REMEMBERED events, no ranker asleep.

    >>> {name: round(w, 2) for name, w in foreseen({"fbgd": 0.01, "popular": 0.0}).items()}
    {'fbgd': 0.84, 'popular': 0.16}
    """
    weights = dict.fromkeys(gains, 1.0 / max(len(gains), 1))
    for _ in range(REMEMBERED if len(gains) > 1 else 0):
        weights = hedge(weights, gains)
    return weights
