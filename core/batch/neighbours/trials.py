"""Trials of settings: a part of each user's likes is held out, and whole lists are scored."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from core import ranking_metrics
from core.batch.neighbours.config import NeighboursConfig
from core.batch.neighbours.exact import Regression
from core.batch.neighbours.graph import graph, likes
from core.errors import DataError
from core.interactions import Interactions
from core.kernels import scan
from core.splits import split_within_users
from core.types import F32, I32

HELD_OUT, TILT = 0.2, 0.3
"""Share of the likes held out, and the exponent of an item's count in its chance to be.

Several splits hold out half of it each. The exponent is that of a random half of the users, as in
the search of fBGD: future events are not a random sample of past ones.
"""
DEPTH = 20
"""Depth of the ndcg that scores a trial."""
MOST_SCORES, MOST_USERS, FEWEST_USERS, MOST_SPLITS = 1.2e8, 4_000, 10, 4
"""Most scores (users times items) of all splits, most and fewest users of one, and most splits."""
BLOCK = 256
"""Users whose scores of all items are in memory at a time."""
WIDEST, MOST_PRODUCTS = 512, 2.5e12
"""Most singular vectors that a search tries, and most products (items^2 times vectors) of a fit."""
_EVERY = np.empty(0, np.bool_)


class Split:
    """Scores settings on one split of the likes; keeps what the next trial may need again."""

    def __init__(
        self,
        pairs: Interactions,
        rng: np.random.Generator,
        held_out: float = HELD_OUT,
        most_scores: float = MOST_SCORES,
    ) -> None:
        tilt = np.where(rng.random(pairs.n_users) < 0.5, TILT, 0.0)
        self.known, held = split_within_users(pairs.liked, held_out, rng, tilt)
        users = rng.permutation(np.flatnonzero(held.user_counts))
        if users.size < FEWEST_USERS:
            raise DataError(
                "fewer than 10 users have two likes, which is too little to choose settings: "
                "give more data, or state settings (--set) and do not search (--budget-s 0)"
            )
        most = int(min(most_scores / max(pairs.n_items, 1), MOST_USERS))
        users = np.sort(users[: max(most, FEWEST_USERS)])
        self.seen, self._held = self.known.rows(users), held.rows(users)
        self._walks: Walks | None = None
        self._regression: Regression | None = None

    def score(self, config: NeighboursConfig) -> float:
        """Return the mean ndcg of the held-out users."""
        return self.score_of(self._exact(config) if config.exact else self._walked(config))

    def score_of(self, scores: Callable[[slice], F32]) -> float:
        """Return the mean ndcg of lists by these scores of some of the held-out users."""
        ids = self._ranked(scores)
        return float(ranking_metrics.ndcg(ranking_metrics.hits(ids, self._held), DEPTH).mean())

    def _exact(self, config: NeighboursConfig) -> Callable[[slice], F32]:
        made = self._regression
        if made is None or made.exponents != (config.user_exponent, config.item_exponent):
            made = self._regression = Regression(self.known, config)
        strengths, known, histories = made.with_reg(config.reg), made.known, likes(self.seen)

        def scores(at: slice) -> F32:
            history: Any = histories[at]
            found = np.full(history.shape, -np.inf, np.float32)
            found[:, known] = history[:, known] @ strengths
            return found

        return scores

    def _walked(self, config: NeighboursConfig) -> Callable[[slice], F32]:
        if self._walks is None or not self._walks.suit(config):
            # released before the next ones are made: they are large
            self._walks = None
            self._walks = Walks(self.known, likes(self.seen), config)
        return self._walks.scores(config)

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
    return [Split(pairs, rng, held_out, MOST_SCORES / n) for _ in range(n)]


def most_factors(pairs: Interactions) -> int:
    """Return the most singular vectors that are worth a trial: others are few, or dear in a fit."""
    affordable = int(MOST_PRODUCTS / max(pairs.n_items, 1) ** 2)
    return max(min(WIDEST, min(pairs.n_users, pairs.n_items) // 2, affordable), 1)


class Walks:
    """Scores of histories by the graph with some exponents, for all its other settings.

    It has the singular vectors of the widest spectral part, whose first ones make up narrower
    parts, and keeps the scores of the last one: a trial with another share adds them up again.
    """

    def __init__(
        self, known: Interactions, histories: sparse.csr_array, config: NeighboursConfig
    ) -> None:
        self._exponents = config.user_exponent, config.item_exponent
        self._width = max(config.factors, most_factors(known))
        self._histories = histories
        self._graph = graph(known, replace(config, factors=self._width, share=1.0))
        self._plain = self._graph.walked(histories)
        self._reached: tuple[tuple[int, float], F32] | None = None

    def suit(self, config: NeighboursConfig) -> bool:
        """Return whether they can score histories with these settings."""
        same = self._exponents == (config.user_exponent, config.item_exponent)
        return same and config.factors <= self._width

    def scores(self, config: NeighboursConfig) -> Callable[[slice], F32]:
        """Return a function from some histories to their scores of all items."""
        if not config.share:
            return lambda at: self._plain[at]
        reached, share = self._spectral(config.factors, config.fade), np.float32(config.share)
        return lambda at: self._plain[at] + share * reached[at]

    def _spectral(self, factors: int, fade: float) -> F32:
        if self._reached is None or self._reached[0] != (factors, fade):
            self._reached = None
            self._reached = (factors, fade), self._graph.reached(self._histories, factors, fade)
        return self._reached[1]
