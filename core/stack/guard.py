"""The guard above the stack: it never ranks worse than its best ranker on held-out events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.stack.choices import Choices, ndcg10, ranks
from core.stack.fitting import PRIOR, TOP, fit
from core.stack.logit import Logit
from core.types import F32, F64, I64

FOLDS = 4
"""Parts of the events, each judged by a fit to the others."""
PULLS_OF_FEW = (PRIOR, 3 * PRIOR, 10 * PRIOR, 50 * PRIOR)
"""Pulls that are tried where events are few: what is expected may be worth more than they are."""


@dataclass(frozen=True)
class Guarded:
    """A fitted stack, and how it compares with the rankers alone on events that it did not see."""

    logit: Logit
    alone: str | None
    """The ranker that ranks better alone; None: the stack is at least as good."""
    ndcg10: Mapping[str, float]
    """Mean of held-out events, by ranker; of the stack under the name ``mixture``."""
    pull: float = PRIOR
    """The pull towards what is expected that was chosen, in events."""


def guarded(
    choices: Choices,
    names: Sequence[str],
    scores: Mapping[str, int],
    rng: np.random.Generator,
    *,
    pulls: Sequence[float] = (PRIOR,),
) -> Guarded:
    """Fit a stack and compare it, cross-fitted, with each ranker alone.

    ``scores`` names for each ranker the column of its own score. With too few events for that,
    the ranker that is best alone is chosen. Of several pulls towards what is expected, the one is
    taken whose fits lose least on the events that they have not seen.
    """
    gains = {name: _gain(choices, choices.signals[:, at]) for name, at in scores.items()}
    best = max(gains, key=gains.__getitem__)
    fold = _folds(choices, rng)
    held_out = {pull: _cross_fitted(choices, names, fold, pull) for pull in pulls}
    known = {pull: z for pull, z in held_out.items() if z is not None}
    if not known:
        return Guarded(fit(choices, names), best, gains)
    pull = min(known, key=lambda pull: _lost(choices, known[pull]))
    mine = _gain(choices, known[pull])
    alone = best if gains[best] > mine else None
    return Guarded(fit(choices, names, pull=pull), alone, {"mixture": mine, **gains}, pull)


def cross_fitted(
    choices: Choices, names: Sequence[str], rng: np.random.Generator, *, pull: float = PRIOR
) -> F64 | None:
    """Return z of each row (rows,) by a fit to the other events; None if a fold has no items."""
    return _cross_fitted(choices, names, _folds(choices, rng), pull)


def _folds(choices: Choices, rng: np.random.Generator) -> I64:
    return rng.permutation(len(choices)) % FOLDS


def _cross_fitted(choices: Choices, names: Sequence[str], fold: I64, pull: float) -> F64 | None:
    found = np.zeros(len(choices.signals))
    for one in range(FOLDS):
        if not (choices.taken[fold != one] >= 0).any():
            return None
        made = fit(choices.keep(fold != one), names, pull=pull)
        found[fold[choices.event] == one] = made.score_all(choices.keep(fold == one))
    return found


def _lost(choices: Choices, z: F64) -> float:
    """Return the mean loss of the top (``fitting.py``) of the events whose item is listed."""
    first, listed = choices.ptr[:-1], choices.taken >= 0
    highest = np.maximum.reduceat(z, first)
    mass = np.add.reduceat(np.exp(z - highest[choices.event]), first)
    chance = np.exp(z[choices.taken[listed]] - highest[listed]) / mass[listed]
    return float(((1.0 - chance**TOP) / TOP).mean())


def _gain(choices: Choices, score: F32 | F64) -> float:
    return float(ndcg10(ranks(choices, score)).mean())
