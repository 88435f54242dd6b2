"""Compares two groups of users by how often what they were shown was taken.

The rate of a group is r = sum_b t_b / sum_b n_b: things taken for each thing shown, added up over
B buckets of users. A user is always in the same bucket, so that the buckets are independent of one
another although the showings of a user are not. The standard error of log r is that of the
jackknife: with r_b, the rate without the bucket b,

    e^2 = (B - 1) / B sum_b (log r_b - mean_b log r_b)^2,

and at least 1 / sum_b t_b, as if each taking were by chance: few users may look more alike than
they are. It is large where one busy user decides the rate, which residuals would hide.

Intervals hold at all times together, so that one may look at them whenever one likes and stop when
one likes (an asymptotic confidence sequence). The price is their width: with N showings they are
m standard errors to each side,

    m^2 = (1 + 1 / x) log((1 + x) / a^2),  x = N / TUNED_FOR * X,

which is 3 where an interval for a single look has 2. a is ALPHA, shared among the comparisons that
are made. Rates are compared by the logarithm of their ratio, whose standard error is
sqrt(e_1^2 + e_2^2). A group that was shown much and took hardly anything is compared as if it had
taken FEWEST_TAKEN: the upper bound is safe then, and there is no lower one.
"""

from dataclasses import dataclass

import numpy as np

from core.errors import ShapeError
from core.types import I64

ALPHA = 0.05
"""Largest probability that an interval is ever wrong."""
TUNED_FOR, X = 10_000, 8.7
"""Number of showings at which the intervals are narrowest, and x there."""
FEWEST_SHOWN, FEWEST_TAKEN, FEWEST_BUCKETS = 100, 5, 10
"""A group with less has no interval: the normal law does not hold yet. Buckets count if anything
was shown to their users."""


@dataclass(frozen=True)
class Estimate:
    """A value and the bounds of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Group:
    """What a group of users was shown, and what of that they took."""

    shown: I64
    """(B,) number of things shown to the users of each bucket."""
    taken: I64
    """(B,) number of those things that were taken."""

    def __post_init__(self) -> None:
        if self.shown.shape != self.taken.shape or self.shown.ndim != 1 or self.shown.size < 2:
            raise ShapeError("a group needs two arrays of the same length, of two buckets or more")

    @property
    def was_shown(self) -> bool:
        """Whether enough was shown to enough users."""
        enough = int(self.shown.sum()) >= FEWEST_SHOWN
        return enough and int(np.count_nonzero(self.shown)) >= FEWEST_BUCKETS

    @property
    def is_telling(self) -> bool:
        """Whether there is enough for an interval."""
        return self.was_shown and int(self.taken.sum()) >= FEWEST_TAKEN

    @property
    def rate(self) -> float:
        """Return r, the things taken for each thing shown; 0 before anything was shown."""
        shown = int(self.shown.sum())
        return int(self.taken.sum()) / shown if shown else 0.0

    @property
    def error(self) -> float:
        """Return e, the standard error of log r, of a group that tells."""
        n, taken = self.shown.size, int(self.taken.sum())
        # half a taking or showing where a bucket has all of them
        left_taken = np.maximum(taken - self.taken, 0.5)
        left_shown = np.maximum(self.shown.sum() - self.shown, 0.5)
        without = np.log(left_taken) - np.log(left_shown)
        jackknife = (n - 1) / n * float(((without - without.mean()) ** 2).sum())
        return float(np.sqrt(max(jackknife, 1.0 / taken)))


def rate(group: Group) -> Estimate | None:
    """Return the rate of a group with its interval; None: there is too little for one."""
    if not group.is_telling:
        return None
    factor = _factor(group.error, int(group.shown.sum()))
    return Estimate(group.rate, group.rate / factor, group.rate * factor)


def lift(group: Group, control: Group, comparisons: int = 1) -> Estimate | None:
    """Return r / r_control - 1 with its interval; None: there is too little for one.

    ``comparisons`` intervals hold together.
    """
    if not (group.was_shown and control.is_telling):
        return None
    n, ratio = int(group.shown.sum() + control.shown.sum()), group.rate / control.rate
    if group.is_telling:
        factor = _factor(float(np.hypot(group.error, control.error)), n, comparisons)
        return Estimate(ratio - 1.0, ratio / factor - 1.0, ratio * factor - 1.0)
    most = FEWEST_TAKEN / int(group.shown.sum()) / control.rate
    factor = _factor(float(np.hypot(FEWEST_TAKEN**-0.5, control.error)), n, comparisons)
    return Estimate(ratio - 1.0, -1.0, most * factor - 1.0)


def _factor(error: float, n: int, comparisons: int = 1) -> float:
    """Return what an interval multiplies and divides by; ``error`` is that of a logarithm."""
    x = n / TUNED_FOR * X
    margin = float(np.sqrt((1.0 + 1.0 / x) * np.log((1.0 + x) / (ALPHA / comparisons) ** 2)))
    return float(np.exp(min(margin * error, 700.0)))
