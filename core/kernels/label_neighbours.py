"""The exact nearest neighbours of each point by labels, found through the points of each label."""

import numpy as np
from numba import prange

from core.kernels.jit import helper, parallel_kernel
from core.types import F32, F64, I32, I64

CHUNKS = 64


@helper
def _mixed(value: np.uint64) -> float:
    """Return a pseudo-random number in 0 .. 1 (splitmix64)."""
    z = value + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@helper
def _sift(score: F64, ix: I32, size: int) -> None:
    """Restore the heap after its root, the worst entry, was replaced."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and score[child + 1] < score[child]:
            child += 1
        if score[at] <= score[child]:
            return
        score[at], score[child] = score[child], score[at]
        ix[at], ix[child] = ix[child], ix[at]
        at = child


@parallel_kernel
def label_neighbours(
    ptr: I64,
    label: I32,
    owner_ptr: I64,
    owner: I32,
    length: F32,
    seed: np.uint64,
    out: I32,
) -> None:
    """Write each point's k nearest points by labels, best first; -1 where fewer share a label.

    Equation   argmax_k over j != i of sum_l y_il y_jl / (length_i length_j)
    Symbols    labels of point i: label[ptr[i]:ptr[i + 1]] · points of label l:
               owner[owner_ptr[l]:owner_ptr[l + 1]] · length (n,) · out (n, k)
    Differs    ties are broken at random (a pure function of seed, i and j); otherwise the first
               points would be neighbours of all others
    Cost       O(sum over labels of (their points)^2); allocates 64 rows
    Reference  tests/core/reference_labels.py::label_neighbours
    """
    n, k = out.shape
    for chunk in prange(CHUNKS):
        total = np.zeros(n, np.float64)
        touched = np.empty(n, np.int32)
        score = np.empty(k, np.float64)
        for i in range(chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS):
            m = 0
            for a in range(ptr[i], ptr[i + 1]):
                for b in range(owner_ptr[label[a]], owner_ptr[label[a] + 1]):
                    j = owner[b]
                    if total[j] == 0.0:
                        touched[m] = j
                        m += 1
                    total[j] += 1.0
            score[:] = -1.0
            for t in range(m):
                j = touched[t]
                alike = total[j] / (float(length[i]) * float(length[j]))
                total[j] = 0.0
                # 1e-7 is far below the least difference of two distinct scores.
                alike += 1e-7 * _mixed(seed ^ (np.uint64(i) * np.uint64(n) + np.uint64(j)))
                if j != i and alike > score[0]:
                    score[0] = alike
                    out[i, 0] = j
                    _sift(score, out[i], k)
            for size in range(k - 1, 0, -1):
                score[0], score[size] = score[size], score[0]
                out[i, 0], out[i, size] = out[i, size], out[i, 0]
                _sift(score, out[i], size)
