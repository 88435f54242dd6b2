"""The pairwise risk of a score, unlabelled rows included, as k + 1 numbers and a small matrix.

The squared pair loss depends on the rows only through the mean and second moment of each group.
Group 0 holds the unlabelled rows, group c the rows of level c. The closed forms and every minibatch
are built on this.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import DataError
from core.types import F64, I64


@dataclass(frozen=True)
class Pairing:
    """Weights of the groups in the risk of a score f, without reg/2 |f|^2.

    Equation   L = constant + sum_c square_c E_c[f^2] - m' cross m - 2 linear' m,  m_c = E_c[f]
               = 1/(k-1) sum_j g R_PN + (1-g) (R_PU + R_NU - 1/2), pair loss (1 - u + v)^2
    Symbols    square, linear (k+1,) f64 · cross (k+1, k+1) f64 symmetric · g ``gamma``
    """

    square: F64
    cross: F64
    linear: F64
    constant: float

    def risk(self, means: F64, squares: F64) -> float:
        """Return L without regularisation, given the groups' E[f] and E[f^2], both (k+1,)."""
        quadratic = self.square @ squares - means @ self.cross @ means
        return float(self.constant + quadratic - 2.0 * self.linear @ means)

    def slopes(self, scores: F64, group: I64) -> F64:
        """Return dL/df of each row over all pairs, (n,) f64, in O(n).

        Equation   dL/df_i = 2 / n_c (square_c f_i - (cross m)_c - linear_c),  c the group of row i
        """
        counts = np.maximum(np.bincount(group, minlength=len(self.square)), 1)
        means = np.bincount(group, scores, minlength=len(self.square)) / counts
        offset = self.cross @ means + self.linear
        slopes: F64 = 2.0 * (self.square[group] * scores - offset[group]) / counts[group]
        return slopes


def pairing(counts: I64, gamma: float) -> Pairing:
    """Return the weights for groups of these sizes, (k+1,) i64 with the unlabelled rows first.

    Splits with an empty side are skipped. Without unlabelled rows, ``gamma`` counts as 1.
    """
    levels = counts.astype(np.float64)
    levels[0] = 0.0
    k1 = len(counts)
    nobody = np.zeros(k1)
    unlabelled = np.eye(k1)[0]
    g = gamma if counts[0] else 1.0
    square, cross, linear, splits = nobody.copy(), np.zeros((k1, k1)), nobody.copy(), 0
    for j in range(1, k1 - 1):
        below, above = (np.where(side, levels, 0.0) for side in _sides(k1, j))
        if not (below.sum() and above.sum()):
            continue
        splits += 1
        below, above = below / below.sum(), above / above.sum()
        for weight, one, other in (
            (g, above, below),
            (1.0 - g, above, unlabelled),
            (1.0 - g, unlabelled, below),
        ):
            square += weight * (one + other)
            cross += weight * (np.outer(one, other) + np.outer(other, one))
            linear += weight * (one - other)
    if not splits:
        raise DataError("all labelled rows have the same level: give rows of at least two levels")
    return Pairing(square / splits, cross / splits, linear / splits, g + 1.5 * (1.0 - g))


def _sides(k1: int, j: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    level = np.arange(k1)
    return level <= j, level > j
