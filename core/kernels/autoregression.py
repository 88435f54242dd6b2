"""The loops of the autoregression: windows of latest items, their products, sparse solutions."""

import numpy as np
from numba import prange

from core.kernels.jit import kernel, parallel_kernel
from core.types import F32, I32, I64

# same as core.steps: a constant imported from our code could change without invalidating the cache
READ = 120


@kernel
def windows(first: I64, at: I64, item: I32, weight: F32, ptr: I64, ix: I32, value: F32) -> None:
    """Write the latest distinct items before each of m positions, weighted by age, of length 1.

    Equation   x_t = sum_a weight_a e_(a-th latest distinct item before t), x_t / |x_t|
    Symbols    first, at (m,): a row reads ``item[first:at]``, at most the last READ of them ·
               weight (L,) by age · ptr (m + 1,), ix, value (m L,) out, in CSR, newest first
    Cost       O(m L^2); allocates nothing
    Reference  tests/core/reference_autoregression.py::windows
    """
    n = 0
    ptr[0] = 0
    for row in range(at.size):
        start = n
        squares = 0.0
        place = at[row] - 1
        last = max(first[row], at[row] - READ)
        while place >= last and n - start < weight.size:
            new = True
            for k in range(start, n):
                if ix[k] == item[place]:
                    new = False
                    break
            if new:
                ix[n] = item[place]
                value[n] = weight[n - start]
                squares += value[n] * value[n]
                n += 1
            place -= 1
        if n > start:
            scale = 1.0 / np.sqrt(squares)
            for k in range(start, n):
                value[k] *= scale
        ptr[row + 1] = n


@kernel
def add_products(
    ptr: I64, ix: I32, value: F32, to_ptr: I64, to_ix: I32, to: F32, gram: F32, cross: F32
) -> None:
    """Add X'X to the upper triangle of ``gram``, and X'Y to ``cross``.

    Equation   G += sum_t x_t x_t' (upper triangle),  C += sum_t x_t y_t'
    Symbols    ptr, ix, value: X in CSR · to_ptr, to_ix, to: Y in CSR, as many rows ·
               gram, cross (items, items) in and out
    Cost       O(sum of the squared lengths of rows); allocates nothing
    Reference  tests/core/reference_autoregression.py::add_products
    """
    for row in range(ptr.size - 1):
        for a in range(ptr[row], ptr[row + 1]):
            one, weight = ix[a], value[a]
            for b in range(a, ptr[row + 1]):
                other = ix[b]
                if one <= other:
                    gram[one, other] += weight * value[b]
                else:
                    gram[other, one] += weight * value[b]
            for b in range(to_ptr[row], to_ptr[row + 1]):
                cross[one, to_ix[b]] += weight * to[b]


@parallel_kernel
def solve_on_support(
    ptr: I64, ix: I32, cross: F32, gram_ptr: I64, gram_ix: I32, gram: F32, reg: F32, out: F32
) -> None:
    """Solve a ridge regression for each target on the items that may predict it.

    Equation   b_S = (G_SS + diag(reg_S))^-1 c_S, S the sources of the target
    Symbols    ptr, ix, cross: the targets' sources and c_S in CSR, sources rising ·
               gram_ptr, gram_ix, gram: G in CSR, columns rising · reg (items,) · out like cross
    Cost       O(sum |S|^3 + sum of the lengths of the read rows of G); |S|^2 memory per thread
    Reference  tests/core/reference_autoregression.py::solve_on_support
    """
    for target in prange(ptr.size - 1):
        start = ptr[target]
        k = ptr[target + 1] - start
        if k > 0:
            a = np.zeros((k, k), np.float64)
            b = np.empty(k, np.float64)
            for i in range(k):
                source = ix[start + i]
                b[i] = cross[start + i]
                j = 0
                for at in range(gram_ptr[source], gram_ptr[source + 1]):
                    while j < k and ix[start + j] < gram_ix[at]:
                        j += 1
                    if j == k:
                        break
                    if ix[start + j] == gram_ix[at]:
                        a[i, j] = gram[at]
                a[i, i] += reg[source]
            found = np.linalg.solve(a, b)
            for i in range(k):
                out[start + i] = found[i]
