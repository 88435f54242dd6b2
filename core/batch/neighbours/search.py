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

Several splits hold out half of it each. The exponent is that of a random half of the users, as in
the search of fBGD: future events are no random sample of past ones.
"""
DEPTH = 20
"""Depth of the ndcg that scores a trial."""
MOST_SCORES, MOST_USERS, FEWEST_USERS, MOST_SPLITS = 6e7, 4_000, 10, 4
"""Most scores (users times items), most users and fewest users of a split, and most splits."""
BLOCK = 256
"""Users whose scores of all items are in memory at a time."""
BEHIND = 0.05
"""Share by which settings may trail the best after some splits; else the others are spared."""
SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 5.0)
FACTORS = (16, 32, 64, 128, 256, 384, 512)
EXPONENTS = (0.3, 0.4, 0.5, 0.6, 0.7)
"""The steps of each axis of the graph; both exponents have the same."""
REGS = (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0)
EXACT_EXPONENTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""The steps of each axis of the exact regression."""
ROUGH_GRAPH = {"reg": 0.0, "share": 0.3, "user_exponent": 0.5, "item_exponent": 0.5}
ROUGH_FACTORS = 256
ROUGH_EXACT = {"reg": 5.0, "user_exponent": 0.1, "item_exponent": 0.2}
"""Rough settings, from which the searches begin."""
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
    starts = [
        replace(base, **{name: value for name, value in rough.items() if name not in fixed})
        for rough in _rough(pairs)
        if "reg" not in fixed or base.exact == (rough["reg"] > 0.0)
    ]
    if budget.seconds <= 0.0 or not starts:
        return starts[0] if starts else base
    climb = _Climb(splits_of(pairs, base.seed), budget, on_trial)
    for config in starts:
        climb.run(config, [axis for axis in _axes(config, pairs) if axis[0] not in fixed])
    return climb.best or starts[0]


def _rough(pairs: Interactions) -> list[dict[str, Any]]:
    """Return rough settings: of the exact regression, where it is possible, and of the graph."""
    factors = max(1, min(ROUGH_FACTORS, min(pairs.n_users, pairs.n_items) // 8))
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
    most = max(min(pairs.n_users, pairs.n_items) // 2, 1)
    factors = [some for some in FACTORS if some <= most] or [most]
    return [
        ("factors", factors),
        ("share", SHARES),
        ("item_exponent", EXPONENTS),
        ("user_exponent", EXPONENTS),
    ]


class Split:
    """Scores settings on one split of the likes; keeps what the next trial may need again."""

    def __init__(
        self, pairs: Interactions, rng: np.random.Generator, held_out: float = HELD_OUT
    ) -> None:
        tilt = np.where(rng.random(pairs.n_users) < 0.5, TILT, 0.0)
        self.known, held = split_within_users(pairs.liked, held_out, rng, tilt)
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
        made = self._regression
        if made is None or made.exponents != (config.user_exponent, config.item_exponent):
            made = self._regression = Regression(self.known, config)
        strengths, known = made.with_reg(config.reg), made.known

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


def splits_of(pairs: Interactions, seed: int) -> list[Split]:
    """Return one split, or several if there are few users."""
    rng = np.random.default_rng([seed, 9])
    n = int(np.clip(np.ceil(MOST_USERS / max(pairs.n_users, 1)), 1, MOST_SPLITS))
    held_out = HELD_OUT if n == 1 else HELD_OUT / 2
    return [Split(pairs, rng, held_out) for _ in range(n)]


class _Climb:
    """Climbs from some settings along one axis after the other while time is left."""

    def __init__(
        self, splits: Sequence[Split], budget: Budget, on_trial: Callable[[float], None]
    ) -> None:
        self._splits, self._budget, self._on_trial = splits, budget, on_trial
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
            self._on_trial(min(max(done, 0.0), 1.0))
        return self._scores[config]
