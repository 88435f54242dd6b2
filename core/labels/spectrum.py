"""The leading eigenvectors of a symmetric matrix that is only multiplied with: block power steps, then a small problem."""

from collections.abc import Callable

import numpy as np

from core.types import F32, F64

DENSE = 600
"""Matrices up to this size are solved whole."""
MORE = 20
"""Vectors beyond those that are asked for: they make the last of them converge."""
SETTLED = 1e-3
"""Relative change of the sum of the eigenvalues' sizes that ends the steps."""
MOST_STEPS = 20


def leading(
    times: Callable[[F32], F32], size: int, k: int, rng: np.random.Generator
) -> tuple[F64, F32]:
    """Return the k eigenvalues of largest absolute value, (k,), largest first, and their vectors (size, k).

    ``times`` multiplies the matrix with a block (size, b). Where the matrix has fewer than k, zeros follow.
    """
    if size <= max(DENSE, k):
        values, vectors = np.linalg.eigh(times(np.eye(size, dtype=np.float32)).astype(np.float64))
        return _largest(values, vectors.astype(np.float32), k)
    basis = _orthonormal(times(rng.standard_normal((size, k + MORE), dtype=np.float32)))
    reached, (values, turn, image) = 0.0, _projected(times, basis)
    for _ in range(MOST_STEPS):
        total = float(np.sort(np.abs(values))[-k:].sum())
        if total - reached <= SETTLED * total:
            break
        reached, basis = total, _orthonormal(image)
        values, turn, image = _projected(times, basis)
    return _largest(values, basis @ turn, k)


def _projected(times: Callable[[F32], F32], basis: F32) -> tuple[F64, F32, F32]:
    """Return eigenvalues and vectors within the basis (Rayleigh and Ritz), and the matrix times the basis."""
    image = times(basis)
    values, turn = np.linalg.eigh((basis.T @ image).astype(np.float64))
    return values, turn.astype(np.float32), image


def _orthonormal(block: F32) -> F32:
    return np.linalg.qr(block)[0]


def _largest(values: F64, vectors: F32, k: int) -> tuple[F64, F32]:
    order = np.argsort(-np.abs(values), kind="stable")[:k]
    found = np.zeros(k)
    found[: order.size] = values[order]
    columns = np.zeros((vectors.shape[0], k), np.float32)
    columns[:, : order.size] = vectors[:, order]
    return found, columns
