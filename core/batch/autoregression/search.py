"""The search for settings of the autoregression.

Each user's last step is held out, for a sample of the users. A trial ranks all items by the steps
before it and scores where the held-out item stands.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from core.batch.autoregression import fit as fits
from core.batch.autoregression.config import AutoregressionConfig
from core.batch.autoregression.windows import latest_rows
from core.search.search import Axis, Budget, Outcome, Search
from core.steps import Steps
from core.types import F32, I32, I64

MOST_TRIALS = 60
FEWEST_USERS, MOST_USERS = 10, 2_000
"""Users with three steps that a search needs, and the most that score a trial."""
ENOUGH_USERS, MOST_SCORES = 500, 3e6
"""Users that score a trial in large catalogues; most scores of an exact trial: each is costly."""
FEW_SOURCES = 40
"""Most items that predict an item in a trial where the solution is not exact."""
MOST_STEPS = 200_000
"""Most steps that a trial learns; of more, a sample of the users is drawn.

``reg`` counts rows, so that what suits the sample suits all users.
"""
DEPTH = 20
"""The score of a trial is ndcg at this depth."""
SPARSE = {"reg": 1_000.0, "nu": 0.5, "back": 0.3, "popularity": 0.25}
"""Settings for sparse data, which are almost counts of what follows what."""
POPULARITIES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
"""Exponents of popularity that each trial compares."""


def search(
    steps: Steps,
    base: AutoregressionConfig,
    budget: Budget,
    *,
    fixed: frozenset[str] = frozenset(),
) -> AutoregressionConfig:
    """Return the best settings found within the budget; those in ``fixed`` stay as in ``base``.

    A budget of 0, or too few users with three steps, returns rough settings, without validation.
    """
    base = replace(base, **{k: v for k, v in rough(steps, base).items() if k not in fixed})
    held = hold_last(_sample(steps), _most_users(steps, base), np.random.default_rng(1))
    axes = [axis for axis in AXES if axis.name not in fixed]
    if budget.seconds <= 0.0 or held.at.size < FEWEST_USERS:
        return base
    powers = (base.popularity,) if "popularity" in fixed else POPULARITIES

    def objective(settings: dict[str, Any]) -> Outcome:
        return _score(held, replace(base, **settings), powers)

    if not axes:
        return replace(base, **objective({}).found)
    looking = Search(axes, objective, lambda settings: 1.0, np.random.default_rng(2))
    starts = (vars(base), vars(base) | SPARSE)
    first = [{axis.name: axis.value(axis.unit(of[axis.name])) for axis in axes} for of in starts]
    best = looking.run(first, budget, most=MOST_TRIALS)
    return replace(base, **best.settings, **best.outcome.found) if best.outcome.score else base


def rough(steps: Steps, base: AutoregressionConfig) -> dict[str, Any]:
    """Return the rough settings, from which a search begins: almost counts if data are sparse."""
    if fits.is_exact(steps, base):
        return {}
    return SPARSE


AXES = (
    Axis("reg", 5.0, 10_000.0, log=True, usual=150.0),
    Axis("nu", 0.0, 1.0),
    Axis("fade", 0.3, 1.6, usual=0.8),
    Axis("ahead", 0.5, 4.0, usual=1.0),
    Axis("back", 0.0, 0.6),
)


@dataclass(frozen=True)
class Held:
    """The last steps of some users, and all other steps."""

    known: Steps
    first: I64
    """(m,): where the users' steps begin in ``known``."""
    at: I64
    """(m,): where they end."""
    target: I32
    """The held-out items, (m,)."""


def hold_last(steps: Steps, most: int, rng: np.random.Generator) -> Held:
    """Hold out the last step of at most ``most`` users with three steps and more."""
    users = np.flatnonzero(np.diff(steps.user_ptr) > 2)
    users = np.sort(rng.permutation(users)[:most])
    last = steps.user_ptr[users + 1] - 1
    kept = np.ones(steps.item_ix.size, np.bool_)
    kept[last] = False
    counts = np.diff(steps.user_ptr)
    counts[users] -= 1
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    known = Steps(steps.n_items, ptr, steps.item_ix[kept], steps.weight[kept])
    return Held(known, ptr[users], ptr[users + 1], steps.item_ix[last])


def _most_users(steps: Steps, config: AutoregressionConfig) -> int:
    if not fits.is_exact(steps, config):
        return MOST_USERS
    return int(np.clip(MOST_SCORES / max(steps.n_items, 1), ENOUGH_USERS, MOST_USERS))


def _sample(steps: Steps) -> Steps:
    """Return the steps of random users, at most MOST_STEPS and those of at least one user."""
    if steps.item_ix.size <= MOST_STEPS:
        return steps
    order = np.random.default_rng(0).permutation(steps.n_users)
    counts = np.diff(steps.user_ptr)
    enough = int(np.searchsorted(np.cumsum(counts[order]), MOST_STEPS, side="right"))
    chosen = np.zeros(steps.n_users, np.bool_)
    chosen[order[: max(enough, 1)]] = True
    kept = np.repeat(chosen, counts)
    ptr = np.concatenate([[0], np.cumsum(np.where(chosen, counts, 0))]).astype(np.int64)
    return Steps(steps.n_items, ptr, steps.item_ix[kept], steps.weight[kept])


def _score(held: Held, config: AutoregressionConfig, powers: tuple[float, ...]) -> Outcome:
    """Return the best ndcg of these powers of popularity, which are compared on one fit."""
    scores, cross = _scores(held, config)
    scales = [fits.popularity_scale(cross, replace(config, popularity=power)) for power in powers]
    ranked = [_ndcg(scores, scale, held) for scale in scales]
    best = int(np.argmax(ranked))
    return Outcome(ranked[best], {"popularity": powers[best]})


def _scores(held: Held, config: AutoregressionConfig) -> tuple[Any, Any]:
    """Return the users' scores before the division by popularity, (m, items) in CSR, and C."""
    asked = latest_rows(held.known, held.first, held.at, config)
    if fits.is_exact(held.known, config):
        moments = fits.dense_moments(held.known, config)
        factor = fits.factorised(moments, config)
        # fewer right-hand sides than in a fit: one for each user, not for each item
        solved = linalg.cho_solve(factor, asked.toarray().T, check_finite=False)
        return sparse.csr_array(np.asarray(solved.T @ moments.cross, np.float32)), moments.cross
    few = replace(config, popularity=0.0, sources=min(config.sources, FEW_SOURCES))
    moments = fits.sparse_moments(held.known, config)
    return sparse.csr_array(asked @ fits.on_supports(moments, few).matrix), moments.cross


def _ndcg(scores: Any, scale: F32, held: Held) -> float:
    """Return the mean ndcg of the held-out items.

    Items that came before are left out of the list, unless the held-out item is one of them.
    """
    gains = np.zeros(held.at.size)
    for row, target in enumerate(held.target):
        own = slice(scores.indptr[row], scores.indptr[row + 1])
        items, values = scores.indices[own], scores.data[own] * scale[scores.indices[own]]
        if not (items == target).any():
            continue
        better = items[values > values[items == target]]
        seen = held.known.item_ix[held.first[row] : held.at[row]]
        above = better.size
        if target not in seen:
            above -= int(np.isin(better, seen).sum())
        gains[row] = 1.0 / np.log2(above + 2.0) if above < DEPTH else 0.0
    return float(gains.mean())
