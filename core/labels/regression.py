"""Linear regression of embeddings on features: ridge, and ADMM for sparse predictions.

The smaller of two systems is solved: the normal equations, or their dual if there are fewer points
than features. With many of both, conjugate gradients are used.
"""

from typing import Any

import numpy as np
import scipy.linalg as la

from core.batch.feature_map import Features
from core.errors import ConfigError, ShapeError
from core.types import F32, F64

MOST_DIRECT = 6_000
"""Largest number of features or points, whichever are fewer, for a Cholesky factorisation."""
TOLERANCE, MOST_STEPS = 1e-4, 200
"""Tolerance and largest number of steps of conjugate gradients."""


class Regression:
    """Regressions of several targets on the same features X (n, d).

    >>> Regression(np.eye(2, dtype=np.float32)).ridge(np.array([[2.0], [4.0]]), 1.0)
    array([[1.],
           [2.]], dtype=float32)
    """

    def __init__(self, features: Features, *, most_direct: int = MOST_DIRECT) -> None:
        self._X: Any = features
        n, d = features.shape
        is_direct = min(n, d) <= most_direct
        self._dual = is_direct and n < d
        self._gram: F64 | None = None
        if is_direct:
            self._gram = _dense(self._X @ self._X.T if self._dual else self._X.T @ self._X)
        self._root: tuple[float, Any] | None = None

    def ridge(self, targets: Any, reg: float) -> F32:
        """Return W (d, g) that minimises |Z - X W|^2 + reg |W|^2.

        The targets Z (n, g) may be dense or sparse.
        """
        self._check(targets, reg)
        if self._dual:
            solved = self._X.T @ self._solve(_dense(targets), reg)
        else:
            solved = self._solve(_dense(self._X.T @ targets), reg)
        return np.ascontiguousarray(solved, np.float32)

    def admm(self, targets: F32, reg: float, l1: float, *, rho: float, sweeps: int) -> F32:
        """Return W that minimises 1/2 |Z - X W|^2 + reg/2 |W|^2 + l1 |X W|_1.

        ADMM splits the problem by alpha = X W:

            W      <- ridge on (Z + rho (alpha - mu)) / (1 + rho) with reg / (1 + rho)
            alpha  <- soft(X W + mu, l1 / rho)
            mu     <- mu + X W - alpha
        """
        if not (rho > 0.0 and l1 >= 0.0 and sweeps >= 1):
            given = f"{rho}, {l1}, {sweeps}"
            raise ConfigError(f"ADMM needs rho > 0, l1 >= 0 and at least one sweep, not {given}")
        alpha, mu = np.zeros_like(targets), np.zeros_like(targets)
        weights = np.zeros((self._X.shape[1], targets.shape[1]), np.float32)
        for _ in range(sweeps):
            weights = self.ridge((targets + rho * (alpha - mu)) / (1.0 + rho), reg / (1.0 + rho))
            fitted = self._X @ weights
            alpha = _soft(fitted + mu, l1 / rho)
            mu = mu + fitted - alpha
        return weights

    def _check(self, targets: Any, reg: float) -> None:
        if not 0.0 < reg < np.inf:
            raise ConfigError(f"reg must be above 0, not {reg}: features can be collinear")
        if targets.ndim != 2 or targets.shape[0] != self._X.shape[0]:
            raise ShapeError(f"{self._X.shape[0]} points need one target each: got {targets.shape}")

    def _solve(self, right: F64, reg: float) -> F64:
        """Return (G + reg I)^-1 right, G = X'X or X X'."""
        if self._gram is None:
            return _conjugate_gradients(self._X, reg, right)
        if self._root is None or self._root[0] != reg:
            held = self._gram.copy()
            held[np.diag_indices_from(held)] += reg
            self._root = reg, la.cho_factor(held, lower=True, overwrite_a=True, check_finite=False)
        solved: F64 = la.cho_solve(self._root[1], right, check_finite=False)
        return solved


def _dense(matrix: Any) -> F64:
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray(), np.float64)


def _soft(values: F32, threshold: float) -> F32:
    shrunk: F32 = np.sign(values) * np.maximum(np.abs(values) - np.float32(threshold), 0)
    return shrunk


def _conjugate_gradients(X: Any, reg: float, right: F64) -> F64:
    """Solve (X'X + reg I) W = right for all columns at once, preconditioned by the diagonal."""
    squares = np.square(X).sum(axis=0) if isinstance(X, np.ndarray) else X.power(2).sum(axis=0)
    scale = (1.0 / (np.asarray(squares, np.float64) + reg))[:, None]
    found, residual = np.zeros_like(right), right.copy()
    way = scale * residual
    rho = np.einsum("ij,ij->j", residual, way)
    enough = TOLERANCE**2 * rho
    for _ in range(MOST_STEPS):
        if (rho <= enough).all():
            break
        image = X.T @ (X @ way) + reg * way
        length = _ratio(rho, np.einsum("ij,ij->j", way, image))
        found += length * way
        residual -= length * image
        moved = scale * residual
        before, rho = rho, np.einsum("ij,ij->j", residual, moved)
        way = moved + _ratio(rho, before) * way
    return found


def _ratio(a: F64, b: F64) -> F64:
    """Return a / b, 0 where b is 0: such a column is solved."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
