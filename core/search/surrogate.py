"""The surrogate of a search: a Gaussian process that predicts scores over the unit cube.

The kernel is Matern 5/2 with one length scale for each axis. Length scales and noise are drawn at
random and weighted by their likelihood.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import linalg
from scipy.special import ndtr

from core.types import F64

SHORTEST, LONGEST = 0.25, 4.0
"""Range of the length scales, in units of an axis."""
LEAST_NOISE, MOST_NOISE = 1e-4, 0.1
"""Range of the noise variance, where scores are scaled to a variance of 1."""
DRAWS = 32
"""Shapes drawn for each fit."""
LEAST_SHARE = 0.02
"""Likelihood, relative to the most likely shape, below which a shape is dropped."""


@dataclass(frozen=True)
class Shape:
    """Hyperparameters: length scales (axes,) and the variance of the noise."""

    lengths: F64
    noise: float


@dataclass(frozen=True)
class _Fit:
    """The posterior under one shape, and the likelihood of the scores under it."""

    shape: Shape
    likelihood: float
    """Logarithm of the likelihood."""
    root: F64
    """Cholesky factor of the covariance."""
    weights: F64

    def predict(self, points: F64, observed: F64) -> tuple[F64, F64]:
        """Return mean and variance at ``points``, for scores of mean 0 and variance 1."""
        cross = _matern(points, observed, self.shape.lengths)
        half = linalg.solve_triangular(self.root, cross.T, lower=True, check_finite=False)
        explained = np.einsum("ij,ij->j", half, half)
        return cross @ self.weights, np.maximum(1.0 - explained, 1e-12)


class Surrogate:
    """Regression from points (n, axes) in the unit cube to scores (n,).

    After few trials many shapes are likely, and a single one would be overconfident: predictions
    average over all of them, weighted by their likelihood.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._fits: list[_Fit] = []
        self._shares: F64 = np.empty(0)

    def fit(self, points: F64, scores: F64) -> Self:
        """Weight shapes by their likelihood; the most likely one is a candidate in the next fit."""
        self._points = points
        self._middle, self._unit = float(scores.mean()), float(scores.std()) or 1.0
        values = (scores - self._middle) / self._unit
        fits = _solved(points, values, self._candidates(points.shape[1]))
        fits.sort(key=lambda fit: -fit.likelihood)
        shares = np.exp([fit.likelihood - fits[0].likelihood for fit in fits])
        n = int(np.count_nonzero(shares > LEAST_SHARE))
        self._fits, self._shares = fits[:n], shares[:n] / shares[:n].sum()
        return self

    def _candidates(self, axes: int) -> list[Shape]:
        ratio = np.log(LONGEST / SHORTEST)
        lengths = SHORTEST * np.exp(ratio * self._rng.random((DRAWS, axes)))
        noise = LEAST_NOISE * (MOST_NOISE / LEAST_NOISE) ** self._rng.random(DRAWS)
        drawn = [Shape(row, float(variance)) for row, variance in zip(lengths, noise, strict=True)]
        if not self._fits:
            return drawn
        likeliest = self._fits[0].shape
        near = np.exp(0.3 * self._rng.standard_normal((DRAWS // 2, axes)))
        return [likeliest, *drawn] + [
            Shape(np.clip(likeliest.lengths * factor, SHORTEST, LONGEST), likeliest.noise)
            for factor in near
        ]

    def predict(self, points: F64) -> tuple[F64, F64]:
        """Return mean and standard deviation of the noise-free score, each (n,)."""
        if not self._fits:
            raise RuntimeError("fit first")
        predicted = [fit.predict(points, self._points) for fit in self._fits]
        means = np.array([mean for mean, _ in predicted])
        variances = np.array([variance for _, variance in predicted])
        mean = self._shares @ means
        spread = np.sqrt(self._shares @ (variances + np.square(means - mean)))
        return self._middle + self._unit * mean, self._unit * spread

    @property
    def noise(self) -> float:
        """Return the standard deviation of the noise in a score."""
        if not self._fits:
            raise RuntimeError("fit first")
        variance = self._shares @ np.array([fit.shape.noise for fit in self._fits])
        return self._unit * float(np.sqrt(variance))


def expected_gain(mean: F64, spread: F64, best: float) -> F64:
    """Return the expected improvement over ``best``, (n,); lower scores count as no improvement.

    >>> expected_gain(np.array([1.0]), np.array([1e-9]), 0.0).round(6)
    array([1.])
    """
    z = (mean - best) / spread
    density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    gain: F64 = spread * (z * ndtr(z) + density)
    return gain


def _matern(a: F64, b: F64, lengths: F64) -> F64:
    """Return the Matern 5/2 kernel (n, m) of points (n, axes) and (m, axes).

    A stack of ``lengths`` gives a stack of kernels. Squared distances come from one matrix product,
    updated in place, because this is most of the cost of a search besides its trials.
    """
    scale = np.sqrt(5.0) / lengths[..., None, :]
    one, two = a * scale, b * scale
    squared = one @ np.swapaxes(-2.0 * two, -1, -2)
    squared += np.square(one).sum(-1)[..., :, None]
    squared += np.square(two).sum(-1)[..., None, :]
    distance = np.sqrt(np.maximum(squared, 0.0, out=squared), out=squared)
    fading = np.exp(-distance)
    # 1 + d + d^2 / 3
    likeness: F64 = distance / 3.0
    likeness += 1.0
    likeness *= distance
    likeness += 1.0
    likeness *= fading
    return likeness


def _solved(points: F64, values: F64, shapes: list[Shape]) -> list[_Fit]:
    covariances = _matern(points, points, np.array([shape.lengths for shape in shapes]))
    each = np.arange(len(points))
    covariances[:, each, each] += np.array([[shape.noise + 1e-8] for shape in shapes])
    roots = np.asarray(np.linalg.cholesky(covariances), dtype=np.float64)
    return [_fit(values, shape, root) for shape, root in zip(shapes, roots, strict=True)]


def _fit(values: F64, shape: Shape, root: F64) -> _Fit:
    weights: F64 = linalg.cho_solve((root, True), values, check_finite=False)
    likelihood = -0.5 * float(values @ weights) - float(np.log(np.diag(root)).sum())
    return _Fit(shape, likelihood, root, weights)
