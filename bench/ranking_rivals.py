"""``implicit`` with its best setting on the TEST part: as strong as a rival can be made."""

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from implicit.als import AlternatingLeastSquares
from implicit.bpr import BayesianPersonalizedRanking
from implicit.lmf import LogisticMatrixFactorization
from scipy import sparse

from core import ranking_metrics
from core.batch.ranker import rank
from core.interactions import Interactions

ALPHAS = (1.0, 2.0, 4.0, 8.0, 16.0, 40.0, 80.0, 160.0)
REGS = (0.1, 1.0, 3.0, 10.0, 30.0, 60.0, 100.0)
REGS_OF_ALPHA = (2.0, 4.0)
ITERATIONS = (4, 10, 20)
RATES, RANK_REGS, RANK_ITERATIONS = (0.01, 0.03, 0.1), (0.001, 0.01, 0.1), (100, 300)
KS = (10, 20)


@dataclass(frozen=True)
class Attempt:
    """One setting of the rival: its scores on the test part and the seconds of its fit."""

    settings: dict[str, Any]
    scores: dict[str, float]
    seconds: float


def scores(users: Any, items: Any, train: Interactions, test: Interactions) -> dict[str, float]:
    """Rank all items but the training ones; the same for everybody."""
    asked = np.flatnonzero(test.user_counts)
    seen = train.rows(asked)
    vectors = np.ascontiguousarray(np.asarray(users, np.float32)[asked])
    ids, _ = rank(vectors, np.ascontiguousarray(items, np.float32), seen, max(KS))
    return ranking_metrics.means(ranking_metrics.hits(ids, test.rows(asked)), KS)


def matrix(pairs: Interactions) -> Any:
    """Return the pairs as implicit wants them."""
    shape = pairs.n_users, pairs.n_items
    return sparse.csr_matrix((np.ones(len(pairs), np.float32), pairs.item_ix, pairs.ptr), shape)


def als_grid(*, full: bool) -> list[tuple[float, float]]:
    """Return (alpha, regularization); the short grid is every other one."""
    pairs = [
        (alpha, reg) for alpha in ALPHAS for reg in (*REGS, *(alpha * of for of in REGS_OF_ALPHA))
    ]
    return pairs if full else [(a, r) for a, r in pairs if 2.0 <= a <= 40.0 and r >= 3.0][::2]


def als(
    train: Interactions, test: Interactions, factors: int, *, threads: int, full: bool
) -> Iterator[Attempt]:
    """Try the grid; one fit shows all numbers of iterations."""
    values = matrix(train)
    for alpha, reg in als_grid(full=full):
        model = AlternatingLeastSquares(
            factors=factors,
            alpha=alpha,
            regularization=reg,
            iterations=max(ITERATIONS),
            num_threads=threads,
            random_state=0,
        )
        found: list[Attempt] = []
        begun, judged = time.perf_counter(), [0.0]

        def look(iteration: int, *_: Any) -> None:
            done = iteration + 1
            if done in ITERATIONS:
                now = time.perf_counter()
                spent = now - begun - judged[0]  # noqa: B023
                settings = {"alpha": alpha, "regularization": reg, "iterations": done}  # noqa: B023
                result = scores(model.user_factors, model.item_factors, train, test)  # noqa: B023
                found.append(Attempt(settings, result, spent))  # noqa: B023
                judged[0] += time.perf_counter() - now  # noqa: B023

        model.fit(values, show_progress=False, callback=look)
        yield from found


def pairwise(
    train: Interactions, test: Interactions, factors: int, *, threads: int, full: bool
) -> Iterator[tuple[str, Attempt]]:
    """Try BPR and LMF."""
    values = matrix(train)
    grid = list(itertools.product(RATES, RANK_REGS, RANK_ITERATIONS))
    for kind in (BayesianPersonalizedRanking, LogisticMatrixFactorization):
        for rate, reg, iterations in grid if full else grid[::6]:
            settings = {"learning_rate": rate, "regularization": reg, "iterations": iterations}
            model = kind(factors=factors, num_threads=threads, random_state=0, **settings)
            begun = time.perf_counter()
            model.fit(values, show_progress=False)
            seconds = time.perf_counter() - begun
            result = scores(model.user_factors, model.item_factors, train, test)
            yield kind.__name__, Attempt(settings, result, seconds)
