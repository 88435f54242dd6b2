"""The part of one-class matrix factorisation that costs time per positive pair; the rest is BLAS.

Pairs are in CSR order of the side being solved. ``bounds`` divides its rows into chunks of about
equal work. Each row belongs to one chunk and is summed in a fixed order, so the number of threads
never changes a result.
"""

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from core.kernels.jit import helper, parallel_kernel
from core.types import F64, I32, I64, U8

Floats = NDArray[np.floating[Any]]

SQUARE, LOGISTIC, BOTH_LOGISTIC = range(3)
"""Losses that ``newton_rows`` supports; BOTH_LOGISTIC is also logistic on listed negatives."""

CG_TOLERANCE = 0.1
MOST_HALVINGS = 20
ARMIJO = 1e-4
ROUNDING = 1e-6
"""Relative rounding error of a value in single precision; no step is refused for less."""


@parallel_kernel
def pair_scores(
    bounds: I64, start: I64, partner: I32, rows: Floats, partners: Floats, out: Floats
) -> None:
    """Write the score of each pair.

    Equation   out_e = b_i . h_j                                               [OCMF, Alg. 1 line 2]
    Symbols    e = (i, j) a pair · b_i of ``rows`` (m, k) · h_j of ``partners`` (n, k) ·
               out (pairs,)
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

    Equation   out_i = sum_j D_ij h_j, j over the pairs of i                   [OCMF, Alg. 2: D+ H]
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
    """Write the contribution of the pairs to a Hessian-vector product.

    Equation   out_i = sum_j c_ij (n_i . h_j) h_j, j over the pairs of i       [OCMF, Alg. 3: U+ H]
    Symbols    c of ``curvature`` (pairs,) · n_i of ``rows`` (m, k) · h_j of ``partners`` (n, k) ·
               out (m, k)
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


@helper
def _logistic(score: float) -> tuple[float, float, float]:
    """Return log(1 + exp(-b)) and its first two derivatives."""
    small = np.exp(-abs(score))
    yes = 1.0 / (1.0 + small)
    if score < 0.0:
        yes = small * yes
    return np.log1p(small) + max(-score, 0.0), yes - 1.0, yes * (1.0 - yes)


@helper
def _pair(score: float, kind: int, positive: bool, below: float) -> tuple[float, float, float]:
    """Return the loss of a listed pair and its first two derivatives."""
    if not positive and kind == BOTH_LOGISTIC:
        value, first, second = _logistic(-score)
        return value, -first, second
    if not positive:
        return (below - score) ** 2, 2.0 * (score - below), 2.0
    if kind == SQUARE:
        return (1.0 - score) ** 2, 2.0 * (score - 1.0), 2.0
    return _logistic(score)


@helper
def _listed(
    score: F64,
    labelled: U8,
    weight: Floats,
    all_pairs: F64,
    kind: int,
    target: float,
    below: float,
    slope: F64,
    curvature: F64,
) -> float:
    """Return a row's extra loss of listed pairs over unlabelled ones; write both derivatives."""
    total = 0.0
    for e in range(score.size):
        value, first, second = _pair(score[e], kind, labelled[e % labelled.size] > 0, below)
        w = weight[e % weight.size]
        off = score[e] - target
        total += w * value - all_pairs[e] * off * off
        slope[e] = w * first - 2.0 * all_pairs[e] * off
        curvature[e] = w * second - 2.0 * all_pairs[e]
    return total


@helper
def _unlisted(row: F64, diagonal: F64, pull: F64) -> float:
    """Return the loss with all pairs unlabelled plus the regularisation, up to a constant."""
    total = 0.0
    for d in range(row.size):
        total += row[d] * (0.5 * diagonal[d] * row[d] - pull[d])
    return total


@helper
def _dot(a: F64, b: F64) -> float:
    total = 0.0
    for d in range(a.size):
        total += a[d] * b[d]
    return total


@helper
def _square_over(a: F64, diagonal: F64) -> float:
    """Return a' D^-1 a."""
    total = 0.0
    for d in range(a.size):
        total += a[d] * a[d] / diagonal[d]
    return total


@helper
def _scores(row: F64, partner: I32, partners: Floats, out: F64) -> None:
    for e in range(partner.size):
        j = partner[e]
        total = 0.0
        for d in range(row.size):
            total += row[d] * partners[j, d]
        out[e] = total


@helper
def _add_sums(weight: F64, partner: I32, partners: Floats, out: F64) -> None:
    for e in range(partner.size):
        j = partner[e]
        for d in range(out.size):
            out[d] += weight[e] * partners[j, d]


@helper
def _newton_step(
    partner: I32,
    partners: Floats,
    curvature: F64,
    diagonal: F64,
    gradient: F64,
    steps: int,
    bent: F64,
    work: F64,
) -> None:
    """Write the solution s of H s = -g into work[0].

    Uses conjugate gradients preconditioned by ``diagonal``.
    """
    step, residual, direction, image = work[0], work[1], work[2], work[3]
    step[:] = 0.0
    residual[:] = -gradient
    direction[:] = residual / diagonal
    square = _square_over(residual, diagonal)
    enough = CG_TOLERANCE * CG_TOLERANCE * square
    for _ in range(steps):
        if square <= enough:
            break
        _scores(direction, partner, partners, bent)
        bent *= curvature
        image[:] = diagonal * direction
        _add_sums(bent, partner, partners, image)
        bend = _dot(direction, image)
        if bend <= 0.0:  # happens only by rounding: the objective is convex
            break
        alpha, previous = square / bend, square
        for d in range(step.size):
            step[d] += alpha * direction[d]
            residual[d] -= alpha * image[d]
        square = _square_over(residual, diagonal)
        for d in range(step.size):
            direction[d] = residual[d] / diagonal[d] + square / previous * direction[d]


@helper
def _minimise_row(
    row: F64,
    partner: I32,
    partners: Floats,
    labelled: U8,
    weight: Floats,
    all_pairs: F64,
    kind: int,
    target: float,
    below: float,
    diagonal: F64,
    pull: F64,
    newton_steps: int,
    cg_steps: int,
    tolerance: float,
    pair_work: F64,
    row_work: F64,
) -> None:
    """Take Newton steps until the gradient is small; halve each step until the value falls."""
    score, slope, curvature, bent = pair_work[0], pair_work[1], pair_work[2], pair_work[3]
    gradient, trial, work = row_work[0], row_work[1], row_work[2:]
    _scores(row, partner, partners, score)
    value = _listed(score, labelled, weight, all_pairs, kind, target, below, slope, curvature)
    value += _unlisted(row, diagonal, pull)
    first_norm = 0.0
    for _step in range(newton_steps):
        gradient[:] = diagonal * row - pull
        _add_sums(slope, partner, partners, gradient)
        norm = _square_over(gradient, diagonal)
        first_norm = max(norm, first_norm)
        if norm <= tolerance * tolerance * first_norm:
            break
        _newton_step(partner, partners, curvature, diagonal, gradient, cg_steps, bent, work)
        downhill = _dot(gradient, work[0])
        length, new = 1.0, value
        for _ in range(MOST_HALVINGS):
            trial[:] = row + length * work[0]
            _scores(trial, partner, partners, score)
            new = _listed(score, labelled, weight, all_pairs, kind, target, below, slope, curvature)
            new += _unlisted(trial, diagonal, pull)
            if new - value <= ARMIJO * length * downhill + ROUNDING * abs(value):
                break
            length *= 0.5
        row[:] = trial
        value = new


@parallel_kernel
def newton_rows(
    bounds: I64,
    start: I64,
    partner: I32,
    labelled: U8,
    weight: Floats,
    partner_weight: Floats,
    own_weight: Floats,
    kind: int,
    target: float,
    below: float,
    gram: Floats,
    pull: Floats,
    reg: Floats,
    partners: Floats,
    rows: Floats,
    newton_steps: int,
    cg_steps: int,
    tolerance: float,
) -> None:
    """Minimise each row's own objective by Newton's method; the rows are independent.

    Equation   min_b sum_j w_j l(b.h_j) - p q_j (a - b.h_j)^2 + p b'Mb + reg |b|^2 - pull.b
                                                                           [OCMF, eq. 7; X = I]
    Symbols    j the listed pairs of the row: ``labelled`` 1 has loss ``kind``, 0 has
               (below - b)^2, w ``weight``; each (pairs,) or (1,) · pull (m, k): 2 a p H'q of all
               unlabelled pairs, plus the contribution of the row's neighbours in a graph ·
               q ``partner_weight`` (n,) · p ``own_weight`` (m,) · a ``target`` · h of ``partners``
               (n, k), in the basis where M = H'diag(q)H is the diagonal ``gram`` (k,) · reg (m,) ·
               b of ``rows`` (m, k), updated
    Cost       O(newton_steps cg_steps pairs k); allocates 5 values per pair of the longest row in
               each chunk
    Differs    preconditioned by 2 (p M + reg); a row stops once the norm of its gradient, in the
               metric of the preconditioner, has fallen by ``tolerance``
    Reference  tests/core/reference_ocmf.py::newton_rows
    """
    k = rows.shape[1]
    for chunk in prange(bounds.size - 1):
        longest = 0
        for i in range(bounds[chunk], bounds[chunk + 1]):
            longest = max(longest, start[i + 1] - start[i])
        pair_work = np.empty((5, longest))
        row_work = np.empty((9, k))
        for i in range(bounds[chunk], bounds[chunk + 1]):
            first, last = start[i], start[i + 1]
            n = last - first
            row, diagonal, own_pull = row_work[6], row_work[7], row_work[8]
            all_pairs = pair_work[4, :n]
            for e in range(n):
                all_pairs[e] = own_weight[i] * partner_weight[partner[first + e]]
            for d in range(k):
                row[d] = rows[i, d]
                diagonal[d] = 2.0 * (own_weight[i] * gram[d] + reg[i])
                own_pull[d] = pull[i, d]
            _minimise_row(
                row,
                partner[first:last],
                partners,
                labelled[first:last] if labelled.size > 1 else labelled,
                weight[first:last] if weight.size > 1 else weight,
                all_pairs,
                kind,
                target,
                below,
                diagonal,
                own_pull,
                newton_steps,
                cg_steps,
                tolerance,
                pair_work[:4, :n],
                row_work[:6],
            )
            for d in range(k):
                rows[i, d] = row[d]
