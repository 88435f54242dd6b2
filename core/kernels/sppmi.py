"""Shifted positive pointwise mutual information of s Y Y' + E, a sum that is never formed.

Its rows are processed one at a time. Y holds the labels of points, E is any sparse matrix of the
same size (label correlations, say).
"""

import numpy as np
from numba import prange

from core.kernels.jit import helper, parallel_kernel
from core.types import F32, F64, I32, I64

CHUNKS = 64
"""Number of row chunks; each has its own sums, so the number of threads changes no result."""


@helper
def _sum_row(
    i: int,
    ptr: I64,
    label: I32,
    owner_ptr: I64,
    owner: I32,
    scale: float,
    extra_ptr: I64,
    extra_ix: I32,
    extra: F32,
    total: F64,
    touched: I32,
) -> int:
    """Add row i to ``total``, which must be zero; return the number of columns touched."""
    n = 0
    for a in range(ptr[i], ptr[i + 1]):
        for b in range(owner_ptr[label[a]], owner_ptr[label[a] + 1]):
            j = owner[b]
            if total[j] == 0.0:
                touched[n] = j
                n += 1
            total[j] += scale
    for a in range(extra_ptr[i], extra_ptr[i + 1]):
        j = extra_ix[a]
        if total[j] == 0.0:
            touched[n] = j
            n += 1
        total[j] += extra[a]
    return n


@parallel_kernel
def sppmi_counts(
    ptr: I64,
    label: I32,
    owner_ptr: I64,
    owner: I32,
    scale: float,
    extra_ptr: I64,
    extra_ix: I32,
    extra: F32,
    share: F64,
    counts: I64,
) -> None:
    """Write the number of positive elements of each row of SPPMI(A), A = scale Y Y' + E.

    Equation   #{j: A_ij c_i c_j > 1},  c_i = sqrt(sum(A) / shift) / sum_j A_ij    [ExMLDS, eq. 5]
    Symbols    labels of point i: label[ptr[i]:ptr[i + 1]] · points of label l:
               owner[owner_ptr[l]:owner_ptr[l + 1]] · E in CSR · share c (n,) · counts (n,) out
    Cost       O(sum over labels of (their points)^2 + nnz(E)); allocates 64 rows
    Reference  tests/core/reference_labels.py::sppmi_counts
    """
    n = share.size
    for chunk in prange(CHUNKS):
        total = np.zeros(n, np.float64)
        touched = np.empty(n, np.int32)
        for i in range(chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS):
            m = _sum_row(
                i, ptr, label, owner_ptr, owner, scale, extra_ptr, extra_ix, extra, total, touched
            )
            kept = 0
            for k in range(m):
                j = touched[k]
                kept += total[j] * share[i] * share[j] > 1.0
                total[j] = 0.0
            counts[i] = kept


@parallel_kernel
def sppmi_values(
    ptr: I64,
    label: I32,
    owner_ptr: I64,
    owner: I32,
    scale: float,
    extra_ptr: I64,
    extra_ix: I32,
    extra: F32,
    share: F64,
    out_ptr: I64,
    out_ix: I32,
    out: F32,
) -> None:
    """Write SPPMI(A) in CSR with the row lengths from ``sppmi_counts``; columns are unsorted.

    Equation   max(log(A_ij sum(A) / (A_i. A_.j)) - log(shift), 0), 0 where A_ij = 0
                                                                                   [ExMLDS, eq. 5]
    Symbols    as ``sppmi_counts`` · out_ptr (n + 1,), out_ix, out (nnz,)
    Cost       as ``sppmi_counts``, and one logarithm per element
    Reference  tests/core/reference_labels.py::sppmi_values
    """
    n = share.size
    for chunk in prange(CHUNKS):
        total = np.zeros(n, np.float64)
        touched = np.empty(n, np.int32)
        for i in range(chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS):
            m = _sum_row(
                i, ptr, label, owner_ptr, owner, scale, extra_ptr, extra_ix, extra, total, touched
            )
            at = out_ptr[i]
            for k in range(m):
                j = touched[k]
                ratio = total[j] * share[i] * share[j]
                total[j] = 0.0
                if ratio > 1.0:
                    out_ix[at] = j
                    out[at] = np.log(ratio)
                    at += 1


@helper
def _add_row(scale: np.float32, row: F32, out: F32) -> None:
    for d in range(out.size):
        out[d] += scale * row[d]


@parallel_kernel
def sparse_product(ptr: I64, ix: I32, value: F32, block: F32, out: F32) -> None:
    """Write the product of a sparse matrix with a block of vectors into ``out``.

    Equation   out_i = sum_j S_ij b_j
    Symbols    S in CSR (n, m) · block b (m, k) · out (n, k), both C-order
    Cost       O(nnz k); allocates nothing
    Reference  tests/core/reference_labels.py::sparse_product
    """
    for i in prange(out.shape[0]):
        out[i] = 0.0
        for a in range(ptr[i], ptr[i + 1]):
            _add_row(value[a], block[ix[a]], out[i])
