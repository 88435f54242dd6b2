"""The Gram matrix that all rows of a side share, and the basis in which it is diagonal.

It sums up all unobserved pairs of a row, so that no row has to visit them one by one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import Diverged
from core.kernels import fbgd
from core.types import F32, F64, I64


def gram(factors: F32, weight: F32, cut: I64) -> F64:
    """Return the sum of weight q q' over all rows, (g, g); ``weight`` is (rows,), or (1,) if equal.

    >>> gram(np.eye(2, dtype=np.float32), np.array([2.0, 3.0], np.float32), np.array([0, 1, 2]))
    array([[2., 0.],
           [0., 3.]])
    """
    parts = np.empty((cut.size - 1, factors.shape[1], factors.shape[1]), np.float32)
    fbgd.gram_parts(cut, factors, weight, parts)
    whole: F64 = parts.sum(0, dtype=np.float64)
    return whole


def spectrum(gram: F32 | F64) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the eigenvalues (g,), clipped at 0, and the eigenvectors (g, g).

    Raises Diverged if the matrix does not fit into float32.

    >>> spectrum(np.diag([1.0, 4.0]))[0]
    array([1., 4.])
    """
    # "not <" instead of ">=": every comparison with NaN is false
    if not float(np.abs(gram).sum(dtype=np.float64)) < float(np.finfo(np.float32).max):
        raise Diverged(
            "the factors are no longer finite: "
            "raise reg, or keep settings, weights, targets and features near 1"
        )
    values, basis = np.linalg.eigh(gram)
    return np.maximum(values, 0.0), basis
