"""Whom nobody knows yet is taken for a typical user: where that is, and how strongly it draws a short history.

Training takes whatever a user left out for hardly wanted. Of somebody with one event that is not true: most of it was
never seen. Where everybody likes much the same, the mean row of the users says more of a new one than a single event
does; where tastes lie far apart it says nothing. So new users of the training data decide.
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

DRAWS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""What is tried."""
HISTORIES = (1, 2, 5, 10)
"""Of so many pairs, for the users that decide."""
DEPTH = 10
MOST_USERS = 5_000
"""About so many users make the mean."""
HELD_OUT, JUDGES, JUDGED_SCORES = 0.1, 1_000, 1e8
"""Share of the users that decide, at most so many, and fewer where they score many items."""
FEWEST_JUDGES = 10
SHARE = 0.1
"""Of a search's budget: about what the one fit takes."""


def drawn(row: RowObjective, pairs: Interactions, draw: float) -> RowObjective:
    """Return the objective that draws short histories to the mean row of these users, if one of them has pairs.

    ``draw`` counts in mean eigenvalues of S: that means the same whatever the settings of the fit.
    """
    if draw == 0.0 or not pairs.user_counts.any():
        return row
    return _towards(_typical(row, pairs), row, draw)


def without_draw(budget: Budget, given: Container[str]) -> Budget:
    """Return what is left of a search's budget for all other settings, where ``draw`` is not among the given ones."""
    return budget if "draw" in given else replace(budget, seconds=(1.0 - SHARE) * budget.seconds)


def choose_draw(
    pairs: Interactions,
    fit: Callable[[Interactions], RowObjective],
    *,
    seed: int = 0,
    otherwise: float = 0.0,
) -> float:
    """Return the draw that is best for users whom a fit has not seen, of whom a few pairs are known.

    A tenth of the users is left out of a fit; their histories are cut to 1, 2, 5 and 10 pairs, and the highest ndcg@10
    for the rest wins, each length counting alike; the weakest of equals. ``otherwise`` where hardly anybody could judge.
    """
    rng = np.random.default_rng([seed, 6])
    users = rng.permutation(np.flatnonzero(pairs.user_counts > 1))
    judges = np.sort(users[: _judges(pairs, users.size)])
    cuts = _cuts(pairs.rows(judges), rng)
    taught = np.ones(pairs.n_users, np.bool_)
    taught[judges] = False
    others = pairs.keep(taught[pairs.user_ix])
    if not cuts or len(others) == 0:
        return otherwise
    row = fit(others)
    typical = _typical(row, others)
    tried = [_towards(typical, row, draw) for draw in DRAWS]
    scores = [float(np.mean([cut.score(one) for cut in cuts])) for one in tried]
    return DRAWS[int(np.argmax(scores))]


def _typical(row: RowObjective, pairs: Interactions) -> F32:
    """Return the mean (g,) of what the users' pairs alone make of them."""
    some = np.flatnonzero(pairs.user_counts)
    some = some[:: max(some.size // MOST_USERS, 1)]
    alone = replace(row, draw=0.0).vectors(pairs.rows(some))
    return np.ascontiguousarray(alone.mean(axis=0, dtype=np.float64), np.float32)


def _towards(typical: F32, row: RowObjective, draw: float) -> RowObjective:
    return replace(row, typical=typical, draw=draw * float(row.gram.mean(dtype=np.float64)))


@dataclass(frozen=True)
class _Cut:
    """Users of whom a few pairs are known, and the items that they like besides."""

    known: Interactions
    held: Interactions

    def score(self, row: RowObjective) -> float:
        ids, _ = rank(row.vectors(self.known), row.item_factors, self.known, DEPTH)
        return float(ranking_metrics.ndcg(ranking_metrics.hits(ids, self.held), DEPTH).mean())


def _judges(pairs: Interactions, users: int) -> int:
    trials = len(HISTORIES) * len(DRAWS) * max(pairs.n_items, 1)
    most = int(np.clip(JUDGED_SCORES / trials, 100, JUDGES))
    return min(most, int(HELD_OUT * users))


def _cuts(judges: Interactions, rng: np.random.Generator) -> list[_Cut]:
    """Return a cut for each length that enough users exceed; what is kept of a history is drawn at random."""
    order = np.lexsort((rng.random(len(judges)), judges.user_ix))
    place = np.empty(len(judges), np.int64)
    place[order] = np.arange(len(judges)) - np.repeat(judges.ptr[:-1], judges.user_counts)
    cuts = []
    for n in HISTORIES:
        known, held = judges.keep(place < n), judges.keep(place >= n).liked
        of = np.flatnonzero(held.user_counts)
        if of.size >= FEWEST_JUDGES:
            cuts.append(_Cut(known.rows(of), held.rows(of)))
    return cuts
