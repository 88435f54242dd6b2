"""Non-linear features: similarity to k-means centres, made orthonormal.

The method is that of Zhang, Tsang and Kwok (2008).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core.errors import ConfigError
from core.types import F32, I64

Floats = NDArray[np.floating[Any]]

SWEEPS = 5
"""Sweeps of k-means; few are enough, since landmarks need not be exact."""
FLOOR = 1e-4
"""Lower bound of the eigenvalues, as a share of the largest.

Directions below it are noise of single precision.
"""
BLOCK = 4_096
"""Rows compared with all centres at a time, to bound memory."""


@dataclass(frozen=True, eq=False)
class Nystroem:
    """The feature map z(x) = K^(-1/2) k(x), k_t = exp(-gamma |x - c_t|^2) for D centres c_t."""

    centres: F32
    """The centres c_t, (D, d)."""
    root: F32
    """K^(-1/2), (D, D)."""
    gamma: float

    def transform(self, features: sp.csr_array | Floats) -> F32:
        """Return z of each row, (n, D)."""
        near: F32 = np.exp(-self.gamma * distances(features, self.centres))
        return near @ self.root


def fit_nystroem(
    features: sp.csr_array | Floats, size: int, gamma: float, rng: np.random.Generator
) -> Nystroem:
    """Return a map with at most ``size`` centres, found by k-means."""
    if size < 1 or not 0.0 < gamma < np.inf:
        raise ConfigError(f"a feature map needs size >= 1 and gamma > 0, not {size} and {gamma}")
    centres = k_means(features, min(size, features.shape[0]), rng)
    kernel = np.exp(-gamma * distances(centres, centres).astype(np.float64))
    values, vectors = np.linalg.eigh(kernel)
    values = np.maximum(values, FLOOR * values[-1])
    root = (vectors / np.sqrt(values)) @ vectors.T
    return Nystroem(centres, root.astype(np.float32), gamma)


def k_means(features: sp.csr_array | Floats, size: int, rng: np.random.Generator) -> F32:
    """Return the centres (size, d) after a few sweeps; a centre without rows stays where it is."""
    first = np.sort(rng.choice(features.shape[0], size, replace=False))
    centres = _dense(features[first])
    for _ in range(SWEEPS):
        nearest = _nearest(features, centres)
        counts = np.bincount(nearest, minlength=size)
        member = sp.csr_array(
            (np.ones(nearest.size, np.float32), (nearest, np.arange(nearest.size))),
            shape=(size, nearest.size),
        )
        sums = _dense(member @ features)
        used = counts > 0
        centres[used] = sums[used] / counts[used, None]
    return centres


def _nearest(features: sp.csr_array | Floats, centres: F32) -> I64:
    half = 0.5 * np.square(centres).sum(axis=1)
    parts = [
        np.argmax(features[at : at + BLOCK] @ centres.T - half, axis=1)
        for at in range(0, features.shape[0], BLOCK)
    ]
    return np.concatenate(parts)


def distances(features: sp.csr_array | Floats, centres: F32) -> F32:
    """Return |x - c|^2, (n, D)."""
    squares = features.multiply(features) if sp.issparse(features) else np.square(features)
    squared_lengths = np.asarray(squares.sum(axis=1)).reshape(-1, 1)
    apart = squared_lengths + np.square(centres).sum(axis=1) - 2.0 * (features @ centres.T)
    out: F32 = np.maximum(apart, 0.0).astype(np.float32)
    return out


def _dense(rows: Any) -> F32:
    dense: Any = rows if isinstance(rows, np.ndarray) else rows.toarray()
    copy: F32 = np.array(dense, np.float32)
    return copy
