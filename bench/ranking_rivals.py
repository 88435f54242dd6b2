"""``implicit`` with its best settings on the TEST part: as strong as this rival can be made."""

from collections.abc import Collection
from itertools import product
from typing import Any

import numpy as np
from implicit.als import AlternatingLeastSquares
from implicit.bpr import BayesianPersonalizedRanking
from implicit.lmf import LogisticMatrixFactorization
from scipy import sparse

from bench.attempts import Attempts
from bench.ranking_contest import THREADS, Contest
from core.batch.popularity import Popular
from core.interactions import Interactions

ALPHAS = (1.0, 2.0, 4.0, 8.0, 16.0, 40.0, 80.0, 160.0)
REGS = (0.1, 1.0, 3.0, 10.0, 30.0, 60.0, 100.0)
REGS_OF_ALPHA = (2.0, 4.0)
ITERATIONS = (4, 10, 20)
RATES, RANK_REGS, RANK_ITERATIONS = (0.01, 0.03, 0.1), (0.001, 0.01, 0.1), (100, 300)
LMF_OWN = {"learning_rate": 1.0, "regularization": 0.6}
"""Defaults of LMF, better than the whole grid, whose learning rates are small for it."""

LARGE = list(product((40.0, 80.0, 160.0), (60.0, 160.0, 320.0)))
"""Grid for large catalogues, where unlabelled pairs must have a small weight."""
FULL = [(a, r) for a in ALPHAS for r in (*REGS, *(a * of for of in REGS_OF_ALPHA))]
ALS_GRIDS = {
    "short": list(product((2.0, 4.0, 8.0, 16.0), (10.0, 30.0, 60.0, 100.0))),
    "full": FULL,
    "short, large": LARGE,
    "planted": list(product((4.0, 8.0, 16.0), (30.0, 60.0, 100.0))),
}
Grid = list[dict[str, float]]


def matrix(pairs: Interactions) -> Any:
    """Return the pairs as the matrix that implicit expects."""
    shape = pairs.n_users, pairs.n_items
    return sparse.csr_matrix((np.ones(len(pairs), np.float32), pairs.item_ix, pairs.ptr), shape)


def kind_of(data: str, extent: str) -> str:
    """Return the name of the grid for a data set; ``extent`` is short or full."""
    if data == "generated":
        return "planted"
    return "short, large" if (data, extent) == ("Gowalla", "short") else extent


def als_grid(kind: str) -> Grid:
    """Return the settings of one of ALS_GRIDS."""
    return [{"alpha": a, "regularization": r} for a, r in dict.fromkeys(ALS_GRIDS[kind])]


def pairwise_grid(kind: str) -> Grid:
    """Return the learning rates and regularisations for BPR and LMF."""
    grid = list(product(RATES, RANK_REGS))
    chosen = grid if kind == "full" else grid[1::3]
    return [{"learning_rate": rate, "regularization": reg} for rate, reg in chosen]


def als(contest: Contest, factors: int, kind: str, table: Attempts) -> None:
    """Try the grid; a single fit yields all numbers of iterations."""
    for settings in als_grid(kind):
        model = AlternatingLeastSquares(
            factors=factors,
            iterations=max(ITERATIONS),
            num_threads=THREADS,
            random_state=0,
            **settings,
        )
        _try(contest, "ALS", model, {"factors": factors, **settings}, ITERATIONS, table)


def bpr(contest: Contest, factors: int, kind: str, table: Attempts) -> None:
    make = BayesianPersonalizedRanking
    _pairwise(contest, "BPR", make, factors, pairwise_grid(kind), table)


def lmf(contest: Contest, factors: int, kind: str, table: Attempts) -> None:
    grid = [LMF_OWN, *pairwise_grid(kind)]
    _pairwise(contest, "LMF", LogisticMatrixFactorization, factors, grid, table)


def _pairwise(
    contest: Contest, name: str, make: Any, factors: int, grid: Grid, table: Attempts
) -> None:
    for settings in grid:
        model = make(
            factors=factors,
            iterations=max(RANK_ITERATIONS),
            num_threads=THREADS,
            random_state=0,
            **settings,
        )
        _try(contest, name, model, {"factors": factors, **settings}, RANK_ITERATIONS, table)


def popular(contest: Contest, table: Attempts) -> None:
    """Add the attempt of popularity, the baseline."""
    if not table.find(contest.data, contest.split, "popular", {}):
        model = Popular().fit(contest.train)
        users = model.user_vectors(contest.train)
        table.add([contest.attempt("popular", {}, users, model.item_factors, 0.0)])


def _try(
    contest: Contest,
    name: str,
    model: Any,
    settings: dict[str, Any],
    looked_at: tuple[int, ...],
    table: Attempts,
) -> None:
    """Fit once unless the table has all attempts; add one after each number of iterations."""
    wanted = [{**settings, "iterations": n} for n in looked_at]
    if all(table.find(contest.data, contest.split, name, one) for one in wanted):
        return
    table.add(
        contest.attempt(name, {**settings, "iterations": n}, users, items, seconds)
        for n, users, items, seconds in curve(contest, model, looked_at)
    )


def curve(
    contest: Contest, model: Any, looked_at: Collection[int]
) -> list[tuple[int, Any, Any, float]]:
    """Fit; return (iteration, users, items, seconds so far) after the given iterations."""
    seen: list[tuple[int, Any, Any, float]] = []
    begun, copying = contest.clock(), [0.0]

    def look(iteration: int, *_: Any) -> None:
        if iteration + 1 in looked_at:
            now = contest.clock()
            users, items = np.array(model.user_factors), np.array(model.item_factors)
            seen.append((iteration + 1, users, items, now - begun - copying[0]))
            copying[0] += contest.clock() - now

    model.fit(matrix(contest.train), show_progress=False, callback=look)
    return seen


RIVALS = {"als": als, "bpr": bpr, "lmf": lmf}
"""Functions that try a grid, given a split, factors, a kind of grid and the table."""
