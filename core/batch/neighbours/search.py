"""The search for settings of neighbours: graph or exact regression, and the settings of each.

A part of each user's likes is held out of the training pairs, and settings are scored by the ndcg
of the whole lists of some users. The search climbs along one axis after the other: fits are few and
dear, and what one needs (singular vectors, the matrix to invert) serves the next one too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core import ranking_metrics
from core.batch.neighbours.config import NeighboursConfig
from core.batch.neighbours.exact import MOST_ITEMS, Regression
from core.batch.neighbours.graph import Graph, graph, likes
from core.errors import DataError
from core.interactions import Interactions, split_within_users
from core.kernels import scan
from core.search.search import Budget
from core.types import F32, I32

HELD_OUT, TILT = 0.2, 0.3
"""Share of the likes held out, and the exponent of an item's count in its chance to be.

The exponent is that of a random half of the users, as in the search of fBGD: future events are no
random sample of past ones.
"""
DEPTH = 20
"""Depth of the ndcg that scores a trial."""
MOST_SCORES, MOST_USERS, FEWEST_USERS = 6e7, 4_000, 10
"""Most scores (users times items), most users and fewest users that validate a trial."""
BLOCK = 256
"""Users whose scores of all items are in memory at a time."""
SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 5.0)
FACTORS = (16, 32, 64, 128, 256, 384, 512)
EXPONENTS = (0.3, 0.4, 0.5, 0.6, 0.7)
REG_STEP, REGS = 1.6, 9
"""Ratio between two values of ``reg``, and how many are tried at most on either side."""
ROUGH_SHARE, ROUGH_FACTORS = 0.3, 256
"""Rough settings of the graph, from which its search begins."""
_EVERY = np.empty(0, np.bool_)

Settings = Mapping[str, Any]
Axes = Sequence[tuple[str, Sequence[Any]]]


def search(
    pairs: Interactions,
    base: NeighboursConfig,
    budget: Budget,
    *,
    fixed: frozenset[str] = frozenset(),
    on_trial: Callable[[float], None] = lambda share: None,
) -> NeighboursConfig:
    """Return the best settings found within the budget; those in ``fixed`` stay as in ``base``.

    A budget of 0 returns rough settings for data of this size, without validation.
    """
    start = replace(base, **{k: v for k, v in _rough(pairs).items() if k not in fixed})
    if budget.seconds <= 0.0:
        return start
    climb = _Climb(Trials(pairs, start.seed), budget, on_trial)
    starts = [start] if "reg" in fixed else [replace(start, reg=0.0)]
    if "reg" not in fixed and _exact_fits(pairs):
        starts.insert(0, replace(start, reg=start.reg or _rough_reg(pairs)))
    for config in starts:
        climb.run(config, [axis for axis in _axes(config, pairs) if axis[0] not in fixed])
    return climb.best or start


def _rough(pairs: Interactions) -> dict[str, Any]:
    """Return the rough settings: the exact regression where it is possible, else the graph."""
    reg = _rough_reg(pairs) if _exact_fits(pairs) else 0.0
    smaller = min(pairs.n_users, pairs.n_items)
    return {"reg": reg, "share": ROUGH_SHARE, "factors": max(1, min(ROUGH_FACTORS, smaller // 8))}


def _exact_fits(pairs: Interactions) -> bool:
    return int(np.count_nonzero(pairs.liked.item_counts)) <= MOST_ITEMS


def _rough_reg(pairs: Interactions) -> float:
    """Return five times the mean total weight of an item's likes, to two digits."""
    weights = likes(pairs)
    known = max(int(np.count_nonzero(pairs.liked.item_counts)), 1)
    return float(f"{max(5.0 * float(weights.sum()) / known, 1.0):.2g}")


def _axes(config: NeighboursConfig, pairs: Interactions) -> Axes:
    if config.exact:
        steps = range(-REGS, REGS + 1)
        return [("reg", [float(f"{config.reg * REG_STEP**step:.2g}") for step in steps])]
    most = max(min(pairs.n_users, pairs.n_items) // 2, 1)
    factors = [some for some in FACTORS if some <= most] or [most]
    return [
        ("share", SHARES),
        ("factors", factors),
        ("item_exponent", EXPONENTS),
        ("user_exponent", EXPONENTS),
    ]


class Trials:
    """Scores settings on held-out likes; keeps what the next trial may need again."""

    def __init__(self, pairs: Interactions, seed: int) -> None:
        rng = np.random.default_rng([seed, 9])
        tilt = np.where(rng.random(pairs.n_users) < 0.5, TILT, 0.0)
        self.known, held = split_within_users(pairs.liked, HELD_OUT, rng, tilt)
        users = rng.permutation(np.flatnonzero(held.user_counts))
        if users.size < FEWEST_USERS:
            raise DataError(
                "fewer than 10 users have two likes, which is too little to choose settings: "
                "give more data, or state settings (--set) and do not search (--budget-s 0)"
            )
        most = int(min(MOST_SCORES / max(pairs.n_items, 1), MOST_USERS))
        users = np.sort(users[: max(most, FEWEST_USERS)])
        self.seen, self._held = self.known.rows(users), held.rows(users)
        self._graph: tuple[tuple[float, float], Graph] | None = None
        self._regression: Regression | None = None

    def score(self, config: NeighboursConfig) -> float:
        """Return the mean ndcg of the held-out users."""
        scores, history = self._scores(config), likes(self.seen)
        return self.score_of(lambda at: scores(history[at]))

    def score_of(self, scores: Callable[[slice], F32]) -> float:
        """Return the mean ndcg of lists by these scores of some of the held-out users."""
        ids = self._ranked(scores)
        return float(ranking_metrics.ndcg(ranking_metrics.hits(ids, self._held), DEPTH).mean())

    def _scores(self, config: NeighboursConfig) -> Callable[[Any], F32]:
        return self._exact(config) if config.exact else self._walks(config)

    def _exact(self, config: NeighboursConfig) -> Callable[[Any], F32]:
        self._regression = self._regression or Regression(self.known)
        strengths, known = self._regression.with_reg(config.reg), self._regression.known

        def scores(history: Any) -> F32:
            found = np.full(history.shape, -np.inf, np.float32)
            found[:, known] = history[:, known] @ strengths
            return found

        return scores

    def _walks(self, config: NeighboursConfig) -> Callable[[Any], F32]:
        exponents = config.user_exponent, config.item_exponent
        if self._graph is None or not self._has(self._graph, exponents, config):
            self._graph = exponents, graph(self.known, config)
        _, made = self._graph
        return lambda history: made.scores(history, config.share, config.factors)

    @staticmethod
    def _has(
        kept: tuple[tuple[float, float], Graph], exponents: Any, config: NeighboursConfig
    ) -> bool:
        wide = kept[1].outward.shape[1] >= config.factors or config.share == 0.0
        return kept[0] == exponents and wide

    def _ranked(self, scores: Callable[[slice], F32]) -> I32:
        seen, values = self.seen, np.empty(DEPTH, np.float32)
        ids = np.empty((seen.n_users, DEPTH), np.int32)
        for first in range(0, seen.n_users, BLOCK):
            for at, row in enumerate(scores(slice(first, first + BLOCK)), first):
                own = seen.item_ix[seen.ptr[at] : seen.ptr[at + 1]]
                scan.select(row, own, _EVERY, ids[at], values)
        return ids


class _Climb:
    """Climbs from some settings along one axis after the other while time is left."""

    def __init__(self, trials: Trials, budget: Budget, on_trial: Callable[[float], None]) -> None:
        self._trials, self._budget, self._on_trial = trials, budget, on_trial
        self._left, self._now = budget.begin(), budget.now
        self._scores: dict[NeighboursConfig, float] = {}
        self._longest = 0.0
        self.best: NeighboursConfig | None = None
        self.score = 0.0

    def run(self, start: NeighboursConfig, axes: Axes) -> None:
        """Climb from ``start``; later climbs only replace ``best`` by something better."""
        self._longest = 0.0
        top, score = start, self._score(start)
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

    def _score(self, config: NeighboursConfig) -> float:
        if config not in self._scores:
            begun = self._now()
            self._scores[config] = self._trials.score(config)
            self._longest = max(self._longest, self._now() - begun)
            done = 1.0 - self._left() / self._budget.seconds
            self._on_trial(min(max(done, 0.0), 1.0))
        return self._scores[config]
