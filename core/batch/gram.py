"""The shared Gram matrix: what all unlabelled pairs of a row add up to."""

import numpy as np

from core.kernels import fbgd
from core.types import F32, F64, I64


def gram(factors: F32, weight: F32, cut: I64) -> F64:
    """Return the sum of weight q q' over all rows, (g, g); ``weight`` is (rows,) or (1,) for all.

    >>> gram(np.eye(2, dtype=np.float32), np.array([2.0, 3.0], np.float32), np.array([0, 1, 2]))
    array([[2., 0.],
           [0., 3.]])
    """
    parts = np.empty((cut.size - 1, factors.shape[1], factors.shape[1]), np.float32)
    fbgd.gram_parts(cut, factors, weight, parts)
    whole: F64 = parts.sum(0, dtype=np.float64)
    return whole
