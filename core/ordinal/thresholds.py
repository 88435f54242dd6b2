"""Levels from scores: thresholds between the levels, and the probability of each level."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.types import F64, I64

MARGINS = (0.125, 0.25, 0.5, 1.0, 2.0)
"""Candidate margins of the hinge, in standard deviations of the score."""


def hinge_thresholds(scores: F64, level: I64, levels: int, margin: float = 1.0) -> F64:
    """Return b (levels-1,) f64, rising, of least all-threshold hinge loss; O(levels n log n).

    Equation   min_b sum_i sum_{j < y_i} max(0, margin - f_i + b_j)
                           + sum_{j >= y_i} max(0, margin - b_j + f_i)
    Symbols    scores f (n,) · level y (n,) in 1 .. levels

    The linear program decomposes into one for each j, with its optimum at a corner of a row's loss.

    >>> hinge_thresholds(np.array([0.0, 1.0, 4.0, 5.0]), np.array([1, 1, 2, 2]), 2)
    array([2.5])
    """
    found = [_hinge(scores, level > j, margin) for j in range(1, levels)]
    return np.array(found)


def _hinge(scores: F64, above: NDArray[np.bool_], margin: float) -> float:
    """Return the middle of the interval of least loss.

    The slope of the loss is -(rows below) left of all corners and rises by 1 at each corner.
    """
    corners = np.sort(np.where(above, scores - margin, scores + margin))
    below = len(scores) - int(above.sum())
    middle = corners[[max(below - 1, 0), min(below, len(scores) - 1)]]
    return float(middle.mean())


@dataclass(frozen=True, eq=False)
class Levels:
    """Converts scores to levels and to probabilities of levels.

    Equation   level = 1 + #{j: f > b_j};  P(y > j) = 1 / (1 + exp(cut_j - slope f))
    Symbols    thresholds b, cuts (levels-1,) f64, both rising · slope >= 0
    """

    thresholds: F64
    cuts: F64
    slope: float

    def level(self, scores: F64) -> I64:
        """Return the level of each score, (n,) i64 in 1 .. levels."""
        level: I64 = np.searchsorted(self.thresholds, scores).astype(np.int64) + 1
        return level

    def probabilities(self, scores: F64) -> F64:
        """Return P(level), (n, levels) f64; rows sum to 1."""
        above = _sigmoid(self.slope * scores[:, None] - self.cuts)
        ends = np.ones((len(scores), 1))
        until = np.hstack([ends, above, 0.0 * ends])
        probabilities: F64 = until[:, :-1] - until[:, 1:]
        return probabilities

    def expected(self, scores: F64) -> F64:
        """Return the mean level, (n,) f64."""
        above = _sigmoid(self.slope * scores[:, None] - self.cuts)
        expected: F64 = 1.0 + above.sum(axis=1)
        return expected


def levels_of(scores: F64, level: I64, levels: int) -> Levels:
    """Return ``Levels`` fitted to scores of rows that the score itself was not fitted to.

    The hinge's margin, in standard deviations of the scores, is the one whose levels have the least
    mean absolute error.
    """
    spread = float(scores.std()) or 1.0
    tried = [hinge_thresholds(scores, level, levels, share * spread) for share in MARGINS]
    misses = [float(np.abs(1 + (scores[:, None] > b).sum(axis=1) - level).mean()) for b in tried]
    cuts, slope = _odds((scores - scores.mean()) / spread, level, levels)
    shift = slope * scores.mean() / spread
    return Levels(tried[int(np.argmin(misses))], cuts + shift, slope / spread)


def _odds(scores: F64, level: I64, levels: int, sweeps: int = 50) -> tuple[F64, float]:
    """Return cuts and slope of least all-threshold logistic loss, by Newton's method.

    Equation   min sum_i sum_j log(1 + exp(-+(slope f_i - cut_j))) + slope^2 / 2
    Differs    half a row is added on each side of every cut, at the mean score 0, which keeps the
               cuts of empty levels finite
    """
    above = (level[:, None] > np.arange(1, levels)).astype(np.float64)
    share = (above.sum(axis=0) + 0.5) / (len(scores) + 1.0)
    cuts, slope = -np.log(share / (1.0 - share)), 1.0
    for _ in range(sweeps):
        chance = _sigmoid(slope * scores[:, None] - cuts)
        error, weight = chance - above, chance * (1.0 - chance)
        extra = _sigmoid(-cuts)
        cut_gradient = -error.sum(axis=0) - (extra - 0.5)
        cut_weight = weight.sum(axis=0) + extra * (1.0 - extra)
        both = -(scores @ weight)
        gradient = scores @ error.sum(axis=1) + slope
        # The block of the cuts is diagonal: eliminate it first.
        step = (gradient - both @ (cut_gradient / cut_weight)) / (
            scores**2 @ weight.sum(axis=1) + 1.0 - both @ (both / cut_weight)
        )
        new = max(slope - float(np.clip(step, -2.0, 2.0)), 0.0)
        cuts = cuts - np.clip((cut_gradient + both * (new - slope)) / cut_weight, -2.0, 2.0)
        slope, moved = new, abs(new - slope)
        if moved < 1e-9 and np.abs(cut_gradient).max() < 1e-6:
            break
    return np.maximum.accumulate(cuts), slope


def _sigmoid(value: F64) -> F64:
    sigmoid: F64 = 0.5 * (1.0 + np.tanh(0.5 * value))
    return sigmoid
