"""The steps of full-batch gradient descent that cost time per positive or per rows x factors^2.

One side of the factorisation is ``rows`` (being updated), the other ``fixed``. Both are in the
basis in which the shared Gram matrix is diagonal, so that its product with a row costs O(g).
``cut`` holds the boundaries of the parts that threads process. It depends on the data alone and
every row is summed in a fixed order, so the number of threads never changes a result.
"""

import numpy as np
from numba import prange

from core.kernels.jit import helper, parallel_kernel, prefetch
from core.types import F32, F64, I32, I64

AHEAD, LINE = 8, 16
"""Rows to prefetch ahead, and floats in a cache line; with 200 000 users this halves the time."""


@helper
def _fetch(factors: F32, other_ix: I32, k: int) -> None:
    """Prefetch the row of pair k + AHEAD."""
    if k + AHEAD < other_ix.size:
        g = factors.shape[1]
        first = np.int64(other_ix[k + AHEAD]) * g
        for d in range(0, g, LINE):
            prefetch(factors, first + d)


@helper
def _dot(a: F32, b: F32) -> np.float32:
    """Return a . b in single precision; the compiler chooses the order of the sum."""
    total = np.float32(0.0)
    for d in range(a.size):
        total += a[d] * b[d]
    return total


@helper
def _add(scale: np.float32, a: F32, out: F32) -> None:
    for d in range(out.size):
        out[d] += scale * a[d]


@parallel_kernel
def solve_rows(
    cut: I64,
    ptr: I64,
    other_ix: I32,
    weight: F32,
    target: F32,
    negative: F32,
    below: np.float32,
    of_items: bool,
    gram: F32,
    linear: F32,
    reg: F32,
    fixed: F32,
    rows: F32,
    steps: int,
    tolerance: float,
    loss: F64,
) -> None:
    """Take at most ``steps`` preconditioned conjugate-gradient steps on the quadratic of each row.

    Equation   min_p  z p'Sp - 2 r- z s.p + sum_y (w - a)(p.q_y)^2 - 2 (w r+ - a r-) p.q_y
                      + lambda |p|^2                                         [fBGD, eq. 2 and 7]
    Symbols    gram: the diagonal of S · linear r- s (g,), below r- · weight w, target r+ (pairs,)
               or (1,) for all · reg lambda (rows,) · negative a by item; the rows are items if
               ``of_items`` (then a is the row's and z = a), else users (z = 1) · fixed q
               (others, g), rows p (rows, g) updated in place · loss (parts,): the minimised sum
               before the steps
    Cost       O((pairs + rows) g) a step; allocates 6 g in each part
    Differs    preconditioned by z S + lambda; a row stops early once its residual is at most
               tolerance times its right-hand side (in that metric)
    Reference  tests/core/reference_batch.py::solve_rows
    """
    g = rows.shape[1]
    # No views of rows and no signed indices in here: each of them costs more than the arithmetic.
    for part in prange(cut.size - 1):
        residual = np.empty(g, np.float32)
        direction = np.empty(g, np.float32)
        image = np.empty(g, np.float32)
        own = np.empty(g, np.float32)
        held = np.empty(g, np.float32)
        inverse = np.empty(g, np.float32)
        total = 0.0
        for x in range(cut[part], cut[part + 1]):
            xu = np.uint64(x)
            z = negative[x] if of_items else np.float32(1.0)
            for d in range(g):
                own[d] = rows[xu, d]
                held[d] = z * gram[d] + reg[x]
                inverse[d] = np.float32(1.0) / (held[d] + np.float32(1e-20))
                residual[d] = z * linear[d] - held[d] * own[d]
                image[d] = z * linear[d]
            for d in range(g):
                total += own[d] * (held[d] * own[d] - np.float32(2.0) * z * linear[d])
            for k in range(ptr[x], ptr[x + 1]):
                _fetch(fixed, other_ix, k)
                j = np.uint64(other_ix[k])
                a = negative[x] if of_items else negative[j]
                w = weight[k] if weight.size > 1 else weight[0]
                b = w * (target[k] if target.size > 1 else target[0]) - a * below
                score = np.float32(0.0)
                for d in range(g):
                    score += own[d] * fixed[j, d]
                c = w - a
                scale = b - c * score
                for d in range(g):
                    residual[d] += scale * fixed[j, d]
                if tolerance > 0.0:
                    for d in range(g):
                        image[d] += b * fixed[j, d]
                total += score * (c * score - np.float32(2.0) * b)
            # The stopping bound of a row is relative to its right-hand side.
            bound = np.float32(0.0)
            if tolerance > 0.0:
                for d in range(g):
                    bound += image[d] * image[d] * inverse[d]
                bound *= np.float32(tolerance * tolerance)
            rho = np.float32(0.0)
            for d in range(g):
                direction[d] = residual[d] * inverse[d]
            for d in range(g):
                rho += residual[d] * direction[d]
            for _ in range(steps):
                if rho <= bound:
                    break
                for d in range(g):
                    image[d] = held[d] * direction[d]
                for k in range(ptr[x], ptr[x + 1]):
                    j = np.uint64(other_ix[k])
                    a = negative[x] if of_items else negative[j]
                    w = weight[k] if weight.size > 1 else weight[0]
                    score = np.float32(0.0)
                    for d in range(g):
                        score += direction[d] * fixed[j, d]
                    score *= w - a
                    for d in range(g):
                        image[d] += score * fixed[j, d]
                curvature = _dot(direction, image)
                if not curvature > 0.0:
                    break
                length = rho / curvature
                for d in range(g):
                    own[d] += length * direction[d]
                    residual[d] -= length * image[d]
                before = rho
                rho = np.float32(0.0)
                for d in range(g):
                    rho += residual[d] * residual[d] * inverse[d]
                turn = rho / before
                for d in range(g):
                    direction[d] = residual[d] * inverse[d] + turn * direction[d]
            for d in range(g):
                rows[xu, d] = own[d]
        loss[part] = total


@parallel_kernel
def gradient(
    cut: I64,
    ptr: I64,
    other_ix: I32,
    weight: F32,
    target: F32,
    negative: F32,
    below: np.float32,
    of_items: bool,
    gram: F32,
    linear: F32,
    fixed: F32,
    rows: F32,
    out: F32,
    loss: F64,
) -> None:
    """Write the gradient of the loss with respect to every row; ``gram`` is a full matrix here.

    Equation   G_P = 2 [P S - r- 1 s + E Q]     G_Q = 2 [diag(a)(Q S - r- 1 s) + E' P]
               E = (w - a) p.q - (w r+ - a r-) on the observed pairs        [fBGD, eq. 16 and 17]
    Symbols    gram S (g, g) · the others as in ``solve_rows`` · out (rows, g) · loss (parts,)
    Cost       O(pairs g + rows g^2)
    Reference  tests/core/reference_batch.py::gradient
    """
    g = rows.shape[1]
    for part in prange(cut.size - 1):
        first = cut[part]
        last = cut[part + 1]
        total = 0.0
        if last > first:
            shared = np.dot(rows[first:last], gram)
        else:
            shared = np.empty((0, g), np.float32)
        for x in range(first, last):
            p = rows[x]
            z = negative[x] if of_items else np.float32(1.0)
            for d in range(g):
                out[x, d] = z * (shared[x - first, d] - linear[d])
                total += z * p[d] * (shared[x - first, d] - np.float32(2.0) * linear[d])
            for k in range(ptr[x], ptr[x + 1]):
                _fetch(fixed, other_ix, k)
                q = fixed[other_ix[k]]
                a = negative[x] if of_items else negative[other_ix[k]]
                w = weight[k] if weight.size > 1 else weight[0]
                b = w * (target[k] if target.size > 1 else target[0]) - a * below
                score = _dot(p, q)
                c = w - a
                _add(c * score - b, q, out[x])
                total += score * (c * score - np.float32(2.0) * b)
            for d in range(g):
                out[x, d] *= np.float32(2.0)
        loss[part] = total


@parallel_kernel
def gram_parts(cut: I64, factors: F32, weight: F32, out: F32) -> None:
    """Write the Gram matrix of each part of the rows; the sum over the parts is the full matrix.

    Equation   S = sum over rows of a q q'                                         [fBGD, eq. 10]
    Symbols    factors q (rows, g) · weight a (rows,) or (1,) for all · out (parts, g, g)
    Cost       O(rows g^2)
    Reference  tests/core/reference_batch.py::gram_parts
    """
    for part in prange(cut.size - 1):
        first = cut[part]
        last = cut[part + 1]
        if last > first and weight.size == 1:
            out[part] = weight[0] * np.dot(factors[first:last].T, factors[first:last])
        elif last > first:
            block = factors[first:last].copy()
            for x in range(first, last):
                for d in range(factors.shape[1]):
                    block[x - first, d] *= weight[x]
            out[part] = np.dot(block.T, factors[first:last])
        else:
            out[part] = np.float32(0.0)


@parallel_kernel
def rotate(cut: I64, factors: F32, basis: F32) -> None:
    """Multiply every row by ``basis``, in place.

    Equation   q := V' q
    Symbols    factors q (rows, g) · basis V (g, g)
    Cost       O(rows g^2)
    Reference  tests/core/reference_batch.py::rotate
    """
    for part in prange(cut.size - 1):
        first = cut[part]
        last = cut[part + 1]
        if last > first:
            factors[first:last] = np.dot(factors[first:last], basis)
