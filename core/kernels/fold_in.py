"""The vector of one user from the user's own pairs, with item factors fixed; serial, for serving.

``core.kernels.fbgd.solve_rows`` does the same for all users of a square loss, on all threads.
"""

import numpy as np

from core.kernels.jit import helper, kernel
from core.types import F32, I32

NEWTON_STEPS, HALVINGS = 30, 20


@helper
def _dot(a: F32, b: F32) -> np.float32:
    total = np.float32(0.0)
    for d in range(a.size):
        total += a[d] * b[d]
    return total


@helper
def _add(scale: np.float32, a: F32, out: F32) -> None:
    for d in range(out.size):
        out[d] += scale * a[d]


@helper
def _softplus(x: float) -> float:
    return float(max(x, 0.0) + np.log1p(np.exp(-abs(x))))


@helper
def _value(
    p: F32, scores: F32, held: F32, linear: F32, weight: F32, target: F32, own: F32, below: float
) -> float:
    """Return the logistic objective at p; ``held`` is the diagonal of S + lambda I."""
    total = 0.0
    for d in range(p.size):
        total += p[d] * (held[d] * p[d] - 2.0 * linear[d])
    for k in range(scores.size):
        sign = 1.0 if target[k] > 0.0 else -1.0
        total += weight[k] * _softplus(-sign * scores[k]) - own[k] * (below - scores[k]) ** 2
    return total


@helper
def _solve(
    item_factors: F32,
    item_ix: I32,
    held: F32,
    curvature: F32,
    residual: F32,
    bound: float,
    steps: int,
    change: F32,
) -> None:
    """Solve (diag(held) + sum curvature q q') change = residual by conjugate gradients.

    ``residual`` is overwritten.
    """
    change[:] = np.float32(0.0)
    direction = residual / held
    image = np.empty_like(residual)
    rho = _dot(residual, direction)
    for _ in range(steps):
        if rho <= bound:
            return
        for d in range(image.size):
            image[d] = held[d] * direction[d]
        for k in range(item_ix.size):
            q = item_factors[item_ix[k]]
            _add(curvature[k] * _dot(direction, q), q, image)
        size = _dot(direction, image)
        if not size > 0.0:
            return
        length = np.float32(rho / size)
        _add(length, direction, change)
        _add(-length, image, residual)
        before = rho
        rho = np.float32(0.0)
        for d in range(image.size):
            rho += residual[d] * residual[d] / held[d]
        turn = np.float32(rho / before)
        for d in range(image.size):
            direction[d] = residual[d] / held[d] + turn * direction[d]


@kernel
def fold_in(
    item_factors: F32,
    gram: F32,
    linear: F32,
    negative: F32,
    below: float,
    reg: float,
    item_ix: I32,
    weight: F32,
    target: F32,
    logistic: bool,
    steps: int,
    tolerance: float,
    out: F32,
) -> None:
    """Write the user's vector p into ``out``.

    Equation   min_p  p'Sp - 2 r- s.p + lambda |p|^2 + sum_y l(p.q_y) - a (r- - p.q_y)^2,
               l = w (r+ - score)^2, or w log(1 + exp(-sign(r+) score)) if ``logistic``
               square: p = (S + sum (w - a) q q' + lambda I)^-1 (sum (w r+ - a r-) q + r- s)
               logistic: Newton steps                                   [fBGD, eq. 7; OCMF, 3.1]
    Symbols    item_factors q (n, g) · gram: the diagonal of S (g,) · linear r- s (g,) · negative a
               (n,) · below r- · reg lambda · item_ix, weight w, target r+ (pairs,) · out p (g,)
    Cost       O((pairs + 1) g) a conjugate-gradient step; allocates 6 g + 3 pairs
    Reference  tests/core/reference_batch.py::fold_in
    """
    n, g = item_ix.size, out.size
    held = gram + np.float32(reg) + np.float32(1e-20)
    own = negative[item_ix]
    scores, curvature = np.zeros(n, np.float32), np.empty(n, np.float32)
    residual, change, trial = (
        np.empty(g, np.float32),
        np.empty(g, np.float32),
        np.empty(g, np.float32),
    )
    bound = 0.0
    out[:] = np.float32(0.0)
    for round_ in range(NEWTON_STEPS if logistic else 1):
        for d in range(g):
            residual[d] = linear[d] - held[d] * out[d]
        for k in range(n):
            if logistic:
                sign = 1.0 if target[k] > 0.0 else -1.0
                likely = 1.0 / (1.0 + np.exp(sign * scores[k]))
                pull = 0.5 * weight[k] * sign * likely + own[k] * (scores[k] - below)
                curvature[k] = 0.5 * weight[k] * likely * (1.0 - likely) - own[k]
            else:
                pull = weight[k] * target[k] - own[k] * below
                curvature[k] = weight[k] - own[k]
            _add(np.float32(pull), item_factors[item_ix[k]], residual)
        size = 0.0
        for d in range(g):
            size += residual[d] * residual[d] / held[d]
        if round_ == 0:
            bound = size * tolerance * tolerance
        if size <= bound:
            return
        # Newton steps far from the minimum need not be exact.
        near = max(bound, 1e-4 * size) if logistic else bound
        _solve(item_factors, item_ix, held, curvature, residual, near, steps, change)
        if not logistic:
            out[:] = change
            return
        value = _value(out, scores, held, linear, weight, target, own, below)
        length = np.float32(1.0)
        for _ in range(HALVINGS):
            for d in range(g):
                trial[d] = out[d] + length * change[d]
            for k in range(n):
                scores[k] = _dot(trial, item_factors[item_ix[k]])
            if _value(trial, scores, held, linear, weight, target, own, below) <= value:
                break
            length *= np.float32(0.5)
        out[:] = trial
