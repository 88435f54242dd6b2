"""The first singular vectors of a sparse matrix, as well as neighbours need them.

A block Krylov space holds directions with large singular values much better than others, so the
best of a space twice as wide as wanted serve well. Vectors far down the spectrum, which hardly
differ in their singular values, remain mixtures of their likes: docs/explanation/neighbours.md
has what that changes. Restarts until each vector is exact take four to eight times as long.
"""

from typing import Any

import numpy as np
from scipy import sparse

from core.types import F32, F64

BLOCK = 16
"""Vectors that are multiplied at a time."""
WIDER = 2.0
"""Width of the space, relative to the vectors wanted."""
FEWEST = 400
"""Least width of the space."""
LEAST = 1e-3
"""Singular values below this share of the largest count as 0: their squares are rounding."""

NEW = 1e-5
"""Length of the new part of a direction, relative to the longest, below which it is rounding."""


def singular_vectors(matrix: sparse.csr_array, wanted: int, seed: int) -> tuple[F64, F32]:
    """Return the first singular values (g,), falling, and right vectors (columns, g), g <= wanted.

    Equation   A = M or M' with fewer rows than columns; Q = orthonormal basis of
               [X, A A' X, (A A')^2 X, ..], X random; A'Q = U S W', vectors A'Q W S^-1 = U, or Q W
    Method     block Krylov space with Rayleigh-Ritz [Musco and Musco 2015]

    With a space as wide as the matrix they are exact. g is the rank where it is less than wanted.

    >>> values, vectors = singular_vectors(sparse.csr_array(np.diag([3.0, 1.0, 2.0])), 2, 0)
    >>> values.round(3).tolist(), np.abs(vectors).round(3).T.tolist()
    ([3.0, 2.0], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    """
    if not wanted:
        return np.zeros(0), np.zeros((matrix.shape[1], 0), np.float32)
    turned = matrix.shape[0] > matrix.shape[1]
    short: Any = sparse.csr_array(matrix.T) if turned else matrix
    basis, images = _krylov(short.astype(np.float32), wanted, np.random.default_rng([seed, 7]))
    squares, mixed = np.linalg.eigh((images @ images.T).astype(np.float64))
    values = np.sqrt(np.maximum(squares[::-1][:wanted], 0.0))
    kept = values > LEAST * values.max(initial=0.0)
    values, mixed = values[kept], mixed[:, ::-1][:, :wanted][:, kept]
    vectors = basis.T @ mixed.astype(np.float32) if turned else images.T @ _scaled(mixed, values)
    return values, np.asarray(vectors, np.float32)


def _scaled(mixed: F64, values: F64) -> F32:
    return (mixed / values).astype(np.float32)


def _krylov(short: Any, wanted: int, rng: np.random.Generator) -> tuple[F32, F32]:
    """Return the rows of Q' (m, rows) and Q'A (m, columns); Q is I if the space would be whole."""
    rows, columns = short.shape
    blocks = -(-max(int(WIDER * wanted), FEWEST) // BLOCK)
    if blocks * BLOCK >= rows:
        return np.eye(rows, dtype=np.float32), np.asarray(short.toarray(), np.float32)
    back: Any = sparse.csr_array(short.T)
    basis = np.empty((blocks * BLOCK, rows), np.float32)
    images = np.empty((blocks * BLOCK, columns), np.float32)
    block = rng.standard_normal((rows, BLOCK)).astype(np.float32)
    for first in range(0, blocks * BLOCK, BLOCK):
        at = slice(first, first + BLOCK)
        block = _orthogonal(block, basis[:first], rng)
        image = back @ block
        basis[at], images[at] = block.T, image.T
        block = short @ image
    return basis, images


def _orthogonal(block: F32, basis: F32, rng: np.random.Generator) -> F32:
    """Return an orthonormal block (rows, b) that is orthogonal to the rows of a basis.

    Columns within the basis, which hold nothing new but rounding, become random ones.
    """
    size = float(np.abs(block).max(initial=0.0)) * np.sqrt(len(block))
    block, triangle = np.linalg.qr(block - basis.T @ (basis @ block))
    used_up = np.abs(np.diag(triangle)) <= NEW * size
    block[:, used_up] = rng.standard_normal((len(block), int(used_up.sum()))) / np.sqrt(len(block))
    # once more: of a block almost within the basis, rounding leaves a part there
    return np.linalg.qr(block - basis.T @ (basis @ block))[0]
