"""Compares two groups of users by how often what they were shown was taken.

The rate of a group is r = sum_b t_b / sum_b n_b: things taken for each thing shown, added up over
B buckets of users. A user is always in the same bucket, so that the buckets are independent of one
another although the showings of a user are not. With the residuals d_b = t_b - r n_b, the standard
error of the rate is

    s = sqrt(B / (B - 1) sum_b d_b^2) / sum_b n_b,

and at least sqrt(sum_b t_b) / sum_b n_b, as if each taking were by chance: few users may look more
alike than they are.

Intervals hold at all times together, so that one may look at them whenever one likes and stop when
one likes (an asymptotic confidence sequence). The price is their width: with N showings they are
m standard errors to each side,

    m^2 = (1 + 1 / x) log((1 + x) / ALPHA^2),  x = N / TUNED_FOR * X,

which is 3 where an interval for a single look has 2. Rates are compared by the logarithm of their
ratio, whose standard error is sqrt((s_1 / r_1)^2 + (s_2 / r_2)^2).
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
    def is_telling(self) -> bool:
        """Whether there is enough for an interval."""
        enough = int(self.shown.sum()) >= FEWEST_SHOWN and int(self.taken.sum()) >= FEWEST_TAKEN
        return enough and int(np.count_nonzero(self.shown)) >= FEWEST_BUCKETS

    @property
    def rate(self) -> float:
        """Return r, the things taken for each thing shown; 0 before anything was shown."""
        shown = int(self.shown.sum())
        return int(self.taken.sum()) / shown if shown else 0.0

    @property
    def error(self) -> float:
        """Return s, the standard error of the rate."""
        n = self.shown.size
        residuals = self.taken - self.rate * self.shown
        squares = max(n / (n - 1) * float((residuals**2).sum()), float(self.taken.sum()))
        return float(np.sqrt(squares) / self.shown.sum())


def rate(group: Group) -> Estimate | None:
    """Return the rate of a group with its interval; None: there is too little for one."""
    if not group.is_telling:
        return None
    relative = group.error / group.rate
    return _around(group.rate, relative, int(group.shown.sum()))


def lift(group: Group, control: Group) -> Estimate | None:
    """Return r / r_control - 1 with its interval; None: there is too little for one."""
    if not (group.is_telling and control.is_telling):
        return None
    relative = np.hypot(group.error / group.rate, control.error / control.rate)
    n = int(group.shown.sum() + control.shown.sum())
    ratio = _around(group.rate / control.rate, float(relative), n)
    return Estimate(ratio.value - 1.0, ratio.low - 1.0, ratio.high - 1.0)


def _around(value: float, relative_error: float, n: int) -> Estimate:
    """Return the interval of a value above 0, of which the logarithm has this standard error."""
    x = n / TUNED_FOR * X
    margin = float(np.sqrt((1.0 + 1.0 / x) * np.log((1.0 + x) / ALPHA**2)))
    factor = float(np.exp(min(margin * relative_error, 700.0)))
    return Estimate(value, value / factor, value * factor)
