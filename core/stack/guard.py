"""The guard above the stack: it never ranks worse than its best ranker on held-out events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.stack.choices import Choices, ndcg10, ranks
from core.stack.fitting import fit
from core.stack.logit import Logit
from core.types import F32, F64

FOLDS = 4
"""Parts of the events, each judged by a fit to the others."""


@dataclass(frozen=True)
class Guarded:
    """A fitted stack, and how it compares with the rankers alone on events that it did not see."""

    logit: Logit
    alone: str | None
    """The ranker that ranks better alone; None: the stack is at least as good."""
    ndcg10: Mapping[str, float]
    """Mean of held-out events, by ranker; of the stack under the name ``mixture``."""


def guarded(
    choices: Choices, names: Sequence[str], scores: Mapping[str, int], rng: np.random.Generator
) -> Guarded:
    """Fit a stack and compare it, cross-fitted, with each ranker alone.

    ``scores`` names for each ranker the column of its own score. With too few events for that,
    the ranker that is best alone is chosen.
    """
    gains = {name: _gain(choices, choices.signals[:, at]) for name, at in scores.items()}
    best = max(gains, key=gains.__getitem__)
    held_out = cross_fitted(choices, names, rng)
    if held_out is None:
        return Guarded(fit(choices, names), best, gains)
    mine = _gain(choices, held_out)
    alone = best if gains[best] > mine else None
    return Guarded(fit(choices, names), alone, {"mixture": mine, **gains})


def cross_fitted(choices: Choices, names: Sequence[str], rng: np.random.Generator) -> F64 | None:
    """Return z of each row (rows,) by a fit to the other events; None if a fold has no items."""
    fold = rng.permutation(len(choices)) % FOLDS
    found = np.zeros(len(choices.signals))
    for one in range(FOLDS):
        if not (choices.taken[fold != one] >= 0).any():
            return None
        made = fit(choices.keep(fold != one), names)
        found[fold[choices.event] == one] = made.score_all(choices.keep(fold == one))
    return found


def _gain(choices: Choices, score: F32 | F64) -> float:
    return float(ndcg10(ranks(choices, score)).mean())
