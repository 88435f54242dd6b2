"""The work of one-class matrix factorisation that grows with the positive pairs; the rest is BLAS.

Pairs come in CSR order of the side that is being solved. ``bounds`` cuts its rows into chunks of about equal work;
each row belongs to one chunk and is summed in its own order, so the result does not depend on the threads.
"""

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from core.kernels.jit import parallel_kernel
from core.types import I32, I64

Floats = NDArray[np.floating[Any]]


@parallel_kernel
def pair_scores(
    bounds: I64, start: I64, partner: I32, rows: Floats, partners: Floats, out: Floats
) -> None:
    """Write the score of each pair.

    Equation   out_e = b_i . h_j                                        [OCMF, Alg. 1 line 2]
    Symbols    e = (i, j) a pair · b_i of ``rows`` (m, k) · h_j of ``partners`` (n, k) · out (pairs,)
    Cost       O(pairs k); allocates nothing
    Reference  tests/core/reference_ocmf.py::pair_scores
    """
    k = rows.shape[1]
    for chunk in prange(bounds.size - 1):
        for i in range(bounds[chunk], bounds[chunk + 1]):
            for e in range(start[i], start[i + 1]):
                j = partner[e]
                total = rows[i, 0] * partners[j, 0]
                for d in range(1, k):
                    total += rows[i, d] * partners[j, d]
                out[e] = total


@parallel_kernel
def weighted_sums(
    bounds: I64, start: I64, partner: I32, weight: Floats, partners: Floats, out: Floats
) -> None:
    """Write the weighted sum of each row's partners.

    Equation   out_i = sum_j D_ij h_j, j over the pairs of i            [OCMF, Alg. 2: D+ H]
    Symbols    D of ``weight`` (pairs,) · h_j of ``partners`` (n, k) · out (m, k)
    Cost       O(pairs k); allocates nothing
    Reference  tests/core/reference_ocmf.py::weighted_sums
    """
    k = partners.shape[1]
    for chunk in prange(bounds.size - 1):
        for i in range(bounds[chunk], bounds[chunk + 1]):
            out[i] = 0
            for e in range(start[i], start[i + 1]):
                j = partner[e]
                weight_e = weight[e]
                for d in range(k):
                    out[i, d] += weight_e * partners[j, d]


@parallel_kernel
def curved_sums(
    bounds: I64,
    start: I64,
    partner: I32,
    curvature: Floats,
    rows: Floats,
    partners: Floats,
    out: Floats,
) -> None:
    """Write what the pairs add to a Hessian-vector product.

    Equation   out_i = sum_j c_ij (n_i . h_j) h_j, j over the pairs of i [OCMF, Alg. 3: U+ H]
    Symbols    c of ``curvature`` (pairs,) · n_i of ``rows`` (m, k) · h_j of ``partners`` (n, k) · out (m, k)
    Cost       O(pairs k); allocates nothing; each h_j is read once for the product and the sum
    Reference  tests/core/reference_ocmf.py::curved_sums
    """
    k = partners.shape[1]
    for chunk in prange(bounds.size - 1):
        for i in range(bounds[chunk], bounds[chunk + 1]):
            out[i] = 0
            for e in range(start[i], start[i + 1]):
                j = partner[e]
                total = rows[i, 0] * partners[j, 0]
                for d in range(1, k):
                    total += rows[i, d] * partners[j, d]
                total *= curvature[e]
                for d in range(k):
                    out[i, d] += total * partners[j, d]
