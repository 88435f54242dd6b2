"""What a search believes about settings it has not tried: a Gaussian process over the unit cube.

Small and plain: Matern 5/2 with a length for each axis; lengths and noise are the most likely of random draws.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import linalg
from scipy.special import ndtr

from core.types import F64

SHORTEST, LONGEST = 0.15, 4.0
LEAST_NOISE, MOST_NOISE = 1e-4, 0.1
"""Of a variance of 1."""
DRAWS = 24


@dataclass(frozen=True)
class Shape:
    """Lengths (axes,) and the noise's variance."""

    lengths: F64
    noise: float


class Surrogate:
    """Fit on points (n, axes) in the unit cube and their scores (n,), then ask for others."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._shape: Shape | None = None

    def fit(self, points: F64, scores: F64) -> Self:
        """Choose the shape, keeping the last one as a candidate."""
        self._points = points
        self._middle, self._unit = float(scores.mean()), float(scores.std()) or 1.0
        values = (scores - self._middle) / self._unit
        fits = [_solve(points, values, shape) for shape in self._candidates(points.shape[1])]
        likelihoods = [fit[0] for fit in fits]
        _, self._shape, self._root, self._weights = fits[int(np.argmax(likelihoods))]
        return self

    def _candidates(self, axes: int) -> list[Shape]:
        ratio = np.log(LONGEST / SHORTEST)
        lengths = SHORTEST * np.exp(ratio * self._rng.random((DRAWS, axes)))
        noise = LEAST_NOISE * (MOST_NOISE / LEAST_NOISE) ** self._rng.random(DRAWS)
        drawn = [Shape(one, float(two)) for one, two in zip(lengths, noise, strict=True)]
        if self._shape is None:
            return drawn
        near = np.exp(0.3 * self._rng.standard_normal((DRAWS // 2, axes)))
        return [self._shape, *drawn] + [
            Shape(np.clip(self._shape.lengths * turn, SHORTEST, LONGEST), self._shape.noise)
            for turn in near
        ]

    def predict(self, points: F64) -> tuple[F64, F64]:
        """Return mean and standard deviation of the score without noise, each (n,)."""
        if self._shape is None:
            raise RuntimeError("fit first")
        cross = _matern(points, self._points, self._shape.lengths)
        mean = cross @ self._weights
        half = linalg.solve_triangular(self._root, cross.T, lower=True)
        spread = np.sqrt(np.maximum(1.0 - np.square(half).sum(0), 1e-12))
        return self._middle + self._unit * mean, self._unit * spread

    @property
    def noise(self) -> float:
        """Return the standard deviation of a score that is only luck."""
        if self._shape is None:
            raise RuntimeError("fit first")
        return self._unit * float(np.sqrt(self._shape.noise))


def expected_gain(mean: F64, spread: F64, best: float) -> F64:
    """Return how much a score is expected to exceed ``best``, counting lower ones as nothing.

    >>> expected_gain(np.array([1.0]), np.array([1e-9]), 0.0).round(6)
    array([1.])
    """
    z = (mean - best) / spread
    density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    gain: F64 = spread * (z * ndtr(z) + density)
    return gain


def _matern(a: F64, b: F64, lengths: F64) -> F64:
    difference = (a[:, None, :] - b[None, :, :]) / lengths
    distance = np.sqrt(5.0 * np.square(difference).sum(-1))
    likeness: F64 = (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
    return likeness


def _solve(points: F64, values: F64, shape: Shape) -> tuple[float, Shape, F64, F64]:
    """Return (log likelihood, shape, Cholesky factor, weights)."""
    covariance = _matern(points, points, shape.lengths)
    covariance[np.diag_indices_from(covariance)] += shape.noise + 1e-8
    root: F64 = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    weights: F64 = linalg.cho_solve((root, True), values)
    likelihood = -0.5 * float(values @ weights) - float(np.log(np.diag(root)).sum())
    return likelihood, shape, root, weights
