"""Leading eigenvectors of a symmetric matrix by block Lanczos, given only products with it."""

from collections.abc import Callable

import numpy as np

from core.types import F32, F64

DENSE = 600
"""Largest size of a matrix that is decomposed directly."""
NARROWEST = 16
"""Least number of vectors in a block.

Blocks of half the requested vectors need the fewest products.
"""
SETTLED = 3e-3
"""Relative change of the sum of absolute eigenvalues below which the iteration stops."""
MOST_BLOCKS = 24


def leading(
    times: Callable[[F32], F32], size: int, k: int, rng: np.random.Generator
) -> tuple[F64, F32]:
    """Return the k eigenvalues of largest absolute value and their vectors (size, k).

    The eigenvalues (k,) are in falling order of absolute value. ``times`` multiplies the matrix
    with a block (size, b). If the matrix has fewer than k eigenvalues, the rest are zero.
    """
    if size <= max(DENSE, k):
        values, vectors = np.linalg.eigh(times(np.eye(size, dtype=np.float32)).astype(np.float64))
        return _largest(values, vectors.astype(np.float32), k)
    width = max(-(-k // 2), NARROWEST)
    block = _orthonormal(rng.standard_normal((size, width), dtype=np.float32))
    basis, inner = np.empty((size, 0), np.float32), np.empty((0, 0))
    room, reached = min(size, MOST_BLOCKS * width) - width, 0.0
    while True:
        basis, image = np.hstack([basis, block]), times(block)
        inner = _bordered(inner, basis.T @ image)
        values, turn = np.linalg.eigh(inner)
        total, found = float(np.sort(np.abs(values))[-k:].sum()), basis.shape[1]
        if found >= k and (total - reached <= SETTLED * total or found > room):
            return _largest(values, basis @ turn.astype(np.float32), k)
        reached, block = total, _beside(basis, image)


def _bordered(inner: F64, border: F32) -> F64:
    """Return the projection onto the basis, extended by the columns of the newest block.

    This is the Rayleigh-Ritz method.
    """
    size, held = len(border), len(inner)
    grown = np.zeros((size, size))
    grown[:held, :held] = inner
    grown[:, held:] = border
    grown[held:] = border.T
    return grown


def _beside(basis: F32, block: F32) -> F32:
    """Return directions of the block orthogonal to the basis.

    Projects twice, since a single projection in single precision leaves rounding errors.
    """
    for _ in range(2):
        block = _orthonormal(block - basis @ (basis.T @ block))
    return block


def _orthonormal(block: F32) -> F32:
    return np.linalg.qr(block)[0]


def _largest(values: F64, vectors: F32, k: int) -> tuple[F64, F32]:
    order = np.argsort(-np.abs(values), kind="stable")[:k]
    found = np.zeros(k)
    found[: order.size] = values[order]
    columns = np.zeros((vectors.shape[0], k), np.float32)
    columns[:, : order.size] = vectors[:, order]
    return found, columns
