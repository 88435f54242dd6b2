"""The search for settings of neighbours: graph or exact regression, and the settings of each.

A part of each user's likes is held out of the training pairs, and settings are scored by the ndcg
of the whole lists of some users. The search climbs along one axis after the other: fits are few and
dear, and what one needs (singular vectors, the matrix to invert) serves the next one too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.batch.neighbours.config import NeighboursConfig
from core.batch.neighbours.exact import MOST_ITEMS
from core.batch.neighbours.trials import Split, most_factors, splits_of
from core.interactions import Interactions
from core.search.search import Budget

BEHIND = 0.05
"""Share by which settings may trail the best after some splits; else the others are spared."""
SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 5.0)
FADES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
FACTORS = (16, 32, 64, 128, 256, 384)
EXPONENTS = (0.3, 0.4, 0.5, 0.6, 0.7)
"""The steps of each axis of the graph, below the most factors; both exponents have the same."""
REGS = (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0)
EXACT_EXPONENTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""The steps of each axis of the exact regression."""
ROUGH_GRAPH = {
    "reg": 0.0,
    "share": 0.8,
    "fade": 1.0,
    "user_exponent": 0.5,
    "item_exponent": 0.5,
}
ROUGH_EXACT = {"reg": 5.0, "user_exponent": 0.1, "item_exponent": 0.2}
"""Rough settings, from which the searches begin."""
Settings = Mapping[str, Any]
Axes = Sequence[tuple[str, Sequence[Any]]]


def search(
    pairs: Interactions,
    base: NeighboursConfig,
    budget: Budget,
    *,
    fixed: frozenset[str] = frozenset(),
) -> NeighboursConfig:
    """Return the best settings found within the budget; those in ``fixed`` stay as in ``base``.

    A budget of 0 returns rough settings for data of this size, without validation.
    """
    starts = [
        replace(base, **{name: value for name, value in rough.items() if name not in fixed})
        for rough in _rough(pairs)
        if "reg" not in fixed or base.exact == (rough["reg"] > 0.0)
    ]
    if budget.seconds <= 0.0 or not starts:
        return starts[0] if starts else base
    climb = _Climb(splits_of(pairs, base.seed), budget)
    for config in starts:
        climb.run(config, [axis for axis in _axes(config, pairs) if axis[0] not in fixed])
    return climb.best or starts[0]


def _rough(pairs: Interactions) -> list[dict[str, Any]]:
    """Return rough settings: of the exact regression, where it is possible, and of the graph."""
    factors = max(1, min(most_factors(pairs), min(pairs.n_users, pairs.n_items) // 8))
    graph_settings = {**ROUGH_GRAPH, "factors": factors}
    return [ROUGH_EXACT, graph_settings] if _exact_fits(pairs) else [graph_settings]


def _exact_fits(pairs: Interactions) -> bool:
    return int(np.count_nonzero(pairs.liked.item_counts)) <= MOST_ITEMS


def _axes(config: NeighboursConfig, pairs: Interactions) -> Axes:
    if config.exact:
        return [
            ("reg", REGS),
            ("item_exponent", EXACT_EXPONENTS),
            ("user_exponent", EXACT_EXPONENTS),
        ]
    most = most_factors(pairs)
    factors = [*(some for some in FACTORS if some < most), most]
    return [
        ("share", SHARES),
        ("fade", FADES),
        ("factors", factors),
        ("item_exponent", EXPONENTS),
        ("user_exponent", EXPONENTS),
    ]


class _Climb:
    """Climbs from some settings along one axis after the other while time is left."""

    def __init__(self, splits: Sequence[Split], budget: Budget) -> None:
        self._splits, self._budget = splits, budget
        self._left, self._now = budget.begin(), budget.now
        self._scores: dict[NeighboursConfig, float] = {}
        self._longest = 0.0
        self.best: NeighboursConfig | None = None
        self.score = 0.0

    def run(self, start: NeighboursConfig, axes: Axes) -> None:
        """Climb from ``start``; later climbs only replace ``best`` by something better."""
        if self.best is not None and self._left() < self._longest:
            return
        self._longest = 0.0
        top, score, before = start, self._score(start), -1.0
        while score > before and self._left() > self._longest:
            before = score
            for name, values in axes:
                top, score = self._along(name, sorted({*values, getattr(top, name)}), top, score)
        if score > self.score:
            self.best, self.score = top, score

    def _along(
        self, name: str, values: Sequence[Any], top: NeighboursConfig, score: float
    ) -> tuple[NeighboursConfig, float]:
        """Go up the axis while that is better, or else down."""
        middle = values.index(getattr(top, name))
        for way in (values[middle + 1 :], values[:middle][::-1]):
            moved = False
            for value in way:
                if self._left() < self._longest:
                    return top, score
                other = replace(top, **{name: value})
                found = self._score(other)
                if found <= score:
                    break
                top, score, moved = other, found, True
            if moved:
                break
        return top, score

    def _mean(self, config: NeighboursConfig) -> float:
        """Return the mean over the splits, or over the first ones if they show that it is worse."""
        scores: list[float] = []
        for split in self._splits:
            scores.append(split.score(config))
            if np.mean(scores) < (1.0 - BEHIND) * max(self._scores.values(), default=0.0):
                break
        return float(np.mean(scores))

    def _score(self, config: NeighboursConfig) -> float:
        if config not in self._scores:
            begun = self._now()
            self._scores[config] = self._mean(config)
            self._longest = max(self._longest, self._now() - begun)
            done = 1.0 - self._left() / self._budget.seconds
            self._budget.on_share(min(max(done, 0.0), 1.0))
        return self._scores[config]
