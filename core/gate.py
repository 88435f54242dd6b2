"""The gate: whether a new model may serve, decided by its scores and its rival's on the same users.

The interval is a paired bootstrap over users, so that differences between users cancel out.

``service/training/model_training.py`` makes three exceptions. If the settings of the active model
beat those that the search found, the former are fitted anew and promoted without a comparison. A
job with ``promote_unjudged`` lets a candidate serve that nobody can judge. While a version is
pinned, no candidate is promoted.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.errors import ConfigError, ShapeError
from core.types import F64

FEWEST_USERS = 200
"""Fewest held-out users for a decision by the interval; with fewer, the mean decides."""
TOLERATED = 0.01
"""Tolerated loss, as a share of the rival's score: similar models may replace one another."""
RESAMPLES, LEVEL = 2_000, 0.95
"""Number of bootstrap samples, and the confidence level."""
_FIRST = "no other model of its strategy serves yet"
_AT_ONCE = 1 << 22
"""Random numbers in memory at a time."""

Outcome = Literal["promoted", "refused", "not_judged"]


@dataclass(frozen=True)
class Interval:
    """A mean and the bounds of its central interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Decision:
    """The outcome for a candidate, the reason, and the difference that decided."""

    outcome: Outcome
    reason: str
    difference: Interval | None = None
    """Candidate minus rival; None if they were not compared."""


def decide(
    candidate: F64, rival: F64 | None, rng: np.random.Generator, *, fewest: int = FEWEST_USERS
) -> Decision:
    """Compare the scores (users,) of a candidate with its rival's; None if nothing serves yet.

    The candidate is refused only if it is clearly worse: the whole interval of the difference lies
    below -TOLERATED times the rival's mean. With fewer than ``fewest`` users nothing is clear, and
    the mean of the difference decides alone. Without any user there is no
    comparison, and the candidate serves only if nothing else does.
    """
    n = candidate.size
    if rival is None:
        return Decision("promoted", _FIRST if n >= fewest else f"{_FIRST}; {_few(n, fewest)}")
    if not n:
        return Decision("not_judged", _few(n, fewest))
    difference = paired_interval(candidate, rival, rng)
    bound = -TOLERATED * float(rival.mean())
    figures = (
        f"{difference.mean:+.4f}, 95 % interval {difference.low:+.4f} to {difference.high:+.4f}"
    )
    if n < fewest:
        return _of_few(difference, bound, f"{figures}; {_few(n, fewest)}: the mean decides")
    if difference.high < bound:
        return Decision(
            "refused", f"worse than the active model: {figures}, all below {bound:.4f}", difference
        )
    return Decision("promoted", f"not worse than the active model: {figures}", difference)


def paired_interval(
    candidate: F64, rival: F64, rng: np.random.Generator, *, level: float = LEVEL
) -> Interval:
    """Return the mean difference (candidate - rival) and its bootstrap interval over users.

    Equation   d_b = mean of d over n users drawn with replacement, b = 1..RESAMPLES;
               the interval lies between quantiles of d_b
    """
    if candidate.shape != rival.shape or candidate.ndim != 1:
        shapes = f"{candidate.shape}, {rival.shape}"
        raise ShapeError(f"scores must be of the same users, not of shapes {shapes}")
    if candidate.size == 0:
        raise ConfigError("there are no held-out users: hold out more")
    difference = candidate - rival
    n = difference.size
    step = max(1, _AT_ONCE // n)
    means = [
        difference[rng.integers(0, n, (min(step, RESAMPLES - at), n))].mean(axis=1)
        for at in range(0, RESAMPLES, step)
    ]
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(difference.mean()), float(low), float(high))


def _of_few(difference: Interval, bound: float, figures: str) -> Decision:
    if difference.mean < bound:
        return Decision("refused", f"the active model is better: {figures}", difference)
    return Decision("promoted", f"as good as the active model or better: {figures}", difference)


def _few(n: int, fewest: int) -> str:
    if not n:
        return (
            "nobody can judge: that takes users who like two items or more (and have features, "
            "if the model needs them)"
        )
    return f"only {n} users can judge, fewer than {fewest}"
