"""Shrink the vectors of users with short histories to the mean user.

Held-out users choose the strength.

Training treats every unobserved item as a weak negative. For a user with one event that is wrong:
they have not seen most items. If users have similar tastes, their mean row says more about a new
user than a single event does; if tastes differ widely, it says nothing.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass, replace

import numpy as np

from core import ranking_metrics
from core.batch.ranker import rank
from core.batch.row_objective import RowObjective
from core.interactions import Interactions
from core.search.search import Budget
from core.types import F32

STRENGTHS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Candidate strengths."""
HISTORIES = (1, 2, 5, 10)
"""History lengths used for validation, in pairs."""
DEPTH = 10
"""Depth of the ndcg that chooses the strength."""
MOST_USERS = 5_000
"""Approximate number of users whose rows are averaged."""
HELD_OUT, MOST_HELD_OUT, MOST_SCORES = 0.1, 1_000, 1e8
"""Share of the users that are held out, their largest number, and the most scores to compute.

The bound on scores holds out fewer users if there are many items.
"""
FEWEST_HELD_OUT = 10
"""Fewest held-out users with enough pairs for a history length to be validated."""
SHARE = 0.1
"""Share of a search's budget reserved for choosing the strength: about the time of its one fit."""


def shrunk(row: RowObjective, pairs: Interactions, shrinkage: float) -> RowObjective:
    """Return the objective that shrinks short histories to the mean row of these users.

    If no user has pairs, the objective is returned as it is. The unit of ``shrinkage`` is the mean
    eigenvalue of S, so that a strength means the same for all settings of the fit.
    """
    if shrinkage == 0.0 or not pairs.user_counts.any():
        return row
    return _towards(_mean_row(row, pairs), row, shrinkage)


def without_shrinkage(budget: Budget, given: Container[str]) -> Budget:
    """Return the budget for searching the other settings: all of it if ``shrinkage`` is given."""
    if "shrinkage" in given:
        return budget
    return replace(budget, seconds=(1.0 - SHARE) * budget.seconds)


def choose_shrinkage(
    pairs: Interactions,
    fit: Callable[[Interactions], RowObjective],
    *,
    seed: int = 0,
    otherwise: float = 0.0,
) -> float:
    """Return the best strength for users outside the fit who have a few pairs.

    A tenth of the users is held out of a fit. Their histories are cut to 1, 2, 5 and 10 pairs, and
    the strength with the highest mean ndcg@10 on the remaining pairs wins; every length counts
    alike, and among equals the weakest strength wins. ``otherwise`` is returned if too few users
    can be held out.
    """
    rng = np.random.default_rng([seed, 6])
    users = rng.permutation(np.flatnonzero(pairs.user_counts > 1))
    held_out = np.sort(users[: _most_held_out(pairs, users.size)])
    cuts = _cuts(pairs.rows(held_out), rng)
    is_fitted = np.ones(pairs.n_users, np.bool_)
    is_fitted[held_out] = False
    others = pairs.keep(is_fitted[pairs.user_ix])
    if not cuts or len(others) == 0:
        return otherwise
    row = fit(others)
    mean_row = _mean_row(row, others)
    candidates = [_towards(mean_row, row, strength) for strength in STRENGTHS]
    scores = [float(np.mean([cut.score(candidate) for cut in cuts])) for candidate in candidates]
    return STRENGTHS[int(np.argmax(scores))]


def _mean_row(row: RowObjective, pairs: Interactions) -> F32:
    """Return the mean (g,) of the users' rows, each folded in without shrinkage."""
    some = np.flatnonzero(pairs.user_counts)
    some = some[:: max(some.size // MOST_USERS, 1)]
    alone = replace(row, shrinkage=0.0).vectors(pairs.rows(some))
    return np.ascontiguousarray(alone.mean(axis=0, dtype=np.float64), np.float32)


def _towards(mean_row: F32, row: RowObjective, shrinkage: float) -> RowObjective:
    unit = float(row.gram.mean(dtype=np.float64))
    return replace(row, mean_row=mean_row, shrinkage=shrinkage * unit)


@dataclass(frozen=True)
class _Cut:
    """Held-out users with histories cut to one length, and the other items that they like."""

    known: Interactions
    held: Interactions

    def score(self, row: RowObjective) -> float:
        ids, _ = rank(row.vectors(self.known), row.item_factors, self.known, DEPTH)
        return float(ranking_metrics.ndcg(ranking_metrics.hits(ids, self.held), DEPTH).mean())


def _most_held_out(pairs: Interactions, users: int) -> int:
    trials = len(HISTORIES) * len(STRENGTHS) * max(pairs.n_items, 1)
    most = int(np.clip(MOST_SCORES / trials, 100, MOST_HELD_OUT))
    return min(most, int(HELD_OUT * users))


def _cuts(pairs: Interactions, rng: np.random.Generator) -> list[_Cut]:
    """Return a cut for each length that enough users exceed.

    The pairs kept are chosen at random.
    """
    order = np.lexsort((rng.random(len(pairs)), pairs.user_ix))
    position = np.empty(len(pairs), np.int64)
    position[order] = np.arange(len(pairs)) - np.repeat(pairs.ptr[:-1], pairs.user_counts)
    cuts = []
    for n in HISTORIES:
        known, held = pairs.keep(position < n), pairs.keep(position >= n).liked
        users = np.flatnonzero(held.user_counts)
        if users.size >= FEWEST_HELD_OUT:
            cuts.append(_Cut(known.rows(users), held.rows(users)))
    return cuts
