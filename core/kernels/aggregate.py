"""Combines the experts' predictions into one: the common context, then the aggregators.

Everything runs strictly in the order of the events. State arrays are float64 and are updated in
place.
"""

import numpy as np

from core.kernels.jit import helper, kernel
from core.types import F32, F64, I64

# Columns of a row, same as in core.online.tables: a constant imported from our code could change
# without invalidating the cache.
COUNT, RESIDUAL_SUM, RESIDUAL_WEIGHT = 2, 3, 4
KEEP_USER, KEEP_ITEM, RESIDUAL_CAP, RESIDUAL_PRIOR = 0.8, 0.95, 1.5, 3.0

# Columns of ``context``.
BASE, USER_COUNT, ITEM_COUNT, USER_RESIDUAL, ITEM_RESIDUAL = range(5)

FEATURES = 7
"""Number of the stack's features besides the experts' deviations."""
PRIOR, FORGET, MEDIAN_CAP = 0.1, 1e-7, 1.0
ROUNDING = 1e-9
KEEP_LOSS = 0.999


@kernel
def running_mean(rating: F64, total: F64, mean: F64) -> None:
    """Write the mean rating before each event.

    Equation   mu_t = (3 + sum of ratings before t) / (1 + their number)
    Symbols    total (2,) f64: sum and number, updated in place · rating, mean (n,) f64
    Reference  tests/core/reference_default.py::running_mean
    """
    for t in range(rating.size):
        mean[t] = (3.0 + total[0]) / (1.0 + total[1])
        total[0] += rating[t]
        total[1] += 1.0


@helper
def _context(users: F32, items: F32, u: int, v: int, clipped: F64, t: int, out: F64) -> None:
    """Write the plain mean of the experts, both event counts and both mean residuals."""
    base = 0.0
    for e in range(clipped.shape[1]):
        base += clipped[t, e]
    out[t, BASE] = base / clipped.shape[1]
    out[t, USER_COUNT] = users[u, COUNT]
    out[t, ITEM_COUNT] = items[v, COUNT]
    out[t, USER_RESIDUAL] = users[u, RESIDUAL_SUM] / (users[u, RESIDUAL_WEIGHT] + RESIDUAL_PRIOR)
    out[t, ITEM_RESIDUAL] = items[v, RESIDUAL_SUM] / (items[v, RESIDUAL_WEIGHT] + RESIDUAL_PRIOR)


@helper
def _count(rows: F32, row: int, residual: float, keep: float) -> None:
    """Add one residual to a row's decayed average and count the event."""
    rows[row, COUNT] += np.float32(1.0)
    rows[row, RESIDUAL_SUM] = keep * rows[row, RESIDUAL_SUM] + residual
    rows[row, RESIDUAL_WEIGHT] = keep * rows[row, RESIDUAL_WEIGHT] + 1.0


@kernel
def context(
    users: F32,
    items: F32,
    user_ix: I64,
    item_ix: I64,
    rating: F64,
    clipped: F64,
    out: F64,
) -> None:
    """Write the context of each pair before its event, then count the event in both rows.

    Equation   base = mean_e p_e; mean residual = s / (m + 3), s = keep s + r, m = keep m + 1,
               r = clip(y - base, +-1.5)
    Symbols    keep .8 user, .95 item · clipped (n, m) f64 predictions · out (n, 5):
               BASE .. ITEM_RESIDUAL
    Reference  tests/core/reference_default.py::context
    """
    for t in range(rating.size):
        u, v = user_ix[t], item_ix[t]
        _context(users, items, u, v, clipped, t, out)
        residual = min(max(rating[t] - out[t, BASE], -RESIDUAL_CAP), RESIDUAL_CAP)
        _count(users, u, residual, KEEP_USER)
        _count(items, v, residual, KEEP_ITEM)


@kernel
def context_predict(users: F32, items: F32, clipped: F64, out: F64) -> None:
    """Write the context of n pairs of rows; nothing else changes.

    Equation   as ``context``, without counting
    Symbols    users, items (n, width) f32 · clipped (n, m) · out (n, 5)
    Reference  tests/core/reference_default.py::context_predict
    """
    for t in range(users.shape[0]):
        _context(users, items, t, t, clipped, t, out)


@helper
def _features(clipped: F64, known: F64, t: int, x: F64) -> None:
    """Write the deviations from the plain mean, then the FEATURES other features."""
    m = clipped.shape[1]
    base = known[t, BASE]
    z = base - 3.0
    for e in range(m):
        x[e] = clipped[t, e] - base
    x[m] = 1.0
    x[m + 1] = z
    x[m + 2] = np.log1p(known[t, USER_COUNT]) / 3.0 - 1.0
    x[m + 3] = np.log1p(known[t, ITEM_COUNT]) / 4.0 - 1.0
    x[m + 4] = z * z
    x[m + 5] = known[t, USER_RESIDUAL]
    x[m + 6] = known[t, ITEM_RESIDUAL]


@helper
def _bounded(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


@helper
def _row_dot(rows: F64, row: int, x: F64) -> float:
    """Return rows[row].x.

    The row is no view and its number is unsigned, so that the loop is vectorised.
    """
    r = np.uint64(row)
    total = 0.0
    for d in range(x.size):
        total += rows[r, d] * x[d]
    return float(total)


@kernel
def stack(
    clipped: F64,
    known: F64,
    rating: F64,
    covariance: F64,
    weight: F64,
    x: F64,
    g: F64,
    low: float,
    high: float,
    out: F64,
) -> None:
    """Run recursive least squares on the experts' deviations from their mean, with two outputs.

    Equation   g = A x; D = 1 / (1 + x.g); w += g D clip(y - base - w.x, +-1);
               w2 += g D (y - base - w2.x); A -= D g g'; A_ff += 1e-7 (.1 - A_ff)
    Symbols    x (d,) = deviations (m), 1, z, log(1+n_u)/3-1, log(1+n_i)/4-1, z^2, both mean
               residuals; z = base - 3 · covariance A (d, d) · weight (2, d): median-like w, mean
               w2 · known from ``context`` · out (n, 2) = base + (w.x, w2.x), clipped to low..high ·
               x, g scratch
    Cost       O(n d^2); allocates nothing
    Differs    A is reduced by h h', h = sqrt(D) g: both triangles change by the same bits, so A
               stays symmetric
    Reference  tests/core/reference_default.py::stack
    """
    d = x.size
    for t in range(rating.size):
        _features(clipped, known, t, x)
        median = known[t, BASE] + _row_dot(weight, 0, x)
        mean = known[t, BASE] + _row_dot(weight, 1, x)
        out[t, 0] = _bounded(median, low, high)
        out[t, 1] = _bounded(mean, low, high)
        spread = 0.0
        for i in range(d):
            g[i] = _row_dot(covariance, i, x)
            spread += g[i] * x[i]
        gain = 1.0 / (1.0 + spread)
        step = gain * _bounded(rating[t] - median, -MEDIAN_CAP, MEDIAN_CAP)
        step_mean = gain * (rating[t] - mean)
        root = np.sqrt(gain)
        for i in range(d):
            weight[0, i] += step * g[i]
            weight[1, i] += step_mean * g[i]
            g[i] *= root
        for i in range(d):
            h = g[i]
            for j in range(d):
                covariance[i, j] -= h * g[j]
            covariance[i, i] += FORGET * (PRIOR - covariance[i, i])


@kernel
def stack_predict(
    clipped: F64, known: F64, weight: F64, x: F64, low: float, high: float, out: F64
) -> None:
    """Write both outputs of the stack for n pairs; nothing else changes.

    Equation   out = base + (w.x, w2.x), clipped to low..high
    Symbols    as in ``stack``
    Reference  tests/core/reference_default.py::stack_predict
    """
    for t in range(clipped.shape[0]):
        _features(clipped, known, t, x)
        for o in range(2):
            out[t, o] = _bounded(known[t, BASE] + _row_dot(weight, o, x), low, high)


@helper
def _mixture(weight: F64, clipped: F64, t: int) -> float:
    """Return the weighted sum of the predictions of one event."""
    total = 0.0
    for e in range(weight.size):
        total += weight[e] * clipped[t, e]
    return float(total)


@helper
def _softmax(score: F64, weight: F64) -> None:
    """Write exp(score) / sum exp(score)."""
    top = score[0]
    for e in range(1, score.size):
        top = max(top, score[e])
    for e in range(score.size):
        weight[e] = np.exp(score[e] - top)
    total = 0.0  # summed in a loop that only reads: see _dot in biased.py
    for e in range(score.size):
        total += weight[e]
    scale = 1.0 / total
    for e in range(score.size):
        weight[e] *= scale


@helper
def _share_out(weight: F64, share: float) -> None:
    """Give every expert an equal part of ``share``, so that a weight can recover later."""
    floor = share / weight.size
    for e in range(weight.size):
        weight[e] = (1.0 - share) * weight[e] + floor


@kernel
def hedge(
    clipped: F64,
    rating: F64,
    log_beta: float,
    share: float,
    log_weight: F64,
    loss: F64,
    scratch: F64,
    out: F64,
) -> None:
    """Run Hedge with fixed share; also accumulate every expert's losses.

    Equation   out = sum_e w_e p_e; then w_e = w_e beta^(l_e), normalised;
               w_e = (1 - share) w_e + share / m      [NN-APA, Alg. 2; Herbster and Warmuth 1998]
    Symbols    l_e = |p_e - y| / 4 · log_weight (m,) · loss (2, m): sum of losses, sum decayed by
               .999 · out (n,), or (0,) if only the weights are wanted · scratch (m,)
    Cost       O(n m); without share the weights are normalised only where they are read
    Reference  tests/core/reference_default.py::hedge
    """
    m = log_weight.size
    for t in range(rating.size):
        if out.size > 0:
            _softmax(log_weight, scratch)
            out[t] = _mixture(scratch, clipped, t)
        for e in range(m):
            lost = abs(clipped[t, e] - rating[t]) / 4.0
            log_weight[e] += log_beta * lost
            loss[0, e] += lost
            loss[1, e] = KEEP_LOSS * loss[1, e] + lost
        if share > 0.0:
            _softmax(log_weight, scratch)
            _share_out(scratch, share)
            for e in range(m):
                log_weight[e] = np.log(scratch[e])


@helper
def _slope(out: float, rating: float) -> float:
    """Return the derivative of the mixture's absolute loss; 0 for an error of rounding size."""
    error = out - rating
    return float(np.sign(error) / 4.0) if abs(error) > ROUNDING else 0.0


@kernel
def exponentiated_gradient(
    clipped: F64, rating: F64, share: float, regret: F64, spread: F64, scratch: F64, out: F64
) -> None:
    """Run exponentiated gradient on the absolute loss, with a rate that needs no tuning.

    Equation   w = softmax(eta R), eta = sqrt(log m / V); r_e = sgn(out - y) (out - p_e) / 4;
               V += max r^2; R += r
    Symbols    regret R (m,) · spread (1,): V · scratch (m,) · share:
               w = (1 - share) w + share / m, written back into R
    Cost       O(n m)
    Reference  tests/core/reference_default.py::exponentiated_gradient
    """
    m = regret.size
    for t in range(rating.size):
        eta = np.sqrt(np.log(m) / spread[0]) if spread[0] > 0.0 else 0.0
        for e in range(m):
            scratch[e] = eta * regret[e]
        _softmax(scratch, scratch)
        out[t] = _mixture(scratch, clipped, t)
        slope = _slope(out[t], rating[t])
        largest = 0.0
        for e in range(m):
            r = slope * (out[t] - clipped[t, e])
            regret[e] += r
            largest = max(largest, r * r)
        spread[0] += largest
        if share > 0.0 and spread[0] > 0.0 and m > 1:
            eta = np.sqrt(np.log(m) / spread[0])
            for e in range(m):
                scratch[e] = eta * regret[e]
            _softmax(scratch, scratch)
            _share_out(scratch, share)
            for e in range(m):
                regret[e] = np.log(scratch[e]) / eta


@helper
def _boa_weights(regret: F64, spread: F64, weight: F64) -> None:
    """Write eta exp(eta R), normalised, and store eta in the third row of ``spread``."""
    m = regret.size
    for e in range(m):
        if spread[0, e] > 0.0:
            spread[2, e] = min(1.0 / spread[1, e], np.sqrt(np.log(m) / spread[0, e]))
        weight[e] = spread[2, e] * regret[e] + np.log(spread[2, e])
    _softmax(weight, weight)


@kernel
def boa(
    clipped: F64, rating: F64, share: float, regret: F64, spread: F64, scratch: F64, out: F64
) -> None:
    """Run Bernstein online aggregation on the absolute loss, with a learning rate per expert.

    Equation   w_e ~ eta_e exp(eta_e R_e), eta_e = min(1 / B_e, sqrt(log m / V_e));
               r_e = sgn(out - y) (out - p_e) / 4; R_e += r_e - eta_e r_e^2; V_e += r_e^2;
               B_e = max(B_e, |r_e|)                                           [Wintenberger 2017]
    Symbols    regret R (m,) · spread (3, m): V, B and eta (1 until V > 0) · scratch (m,) ·
               share: w = (1 - share) w + share / m, written back into R
    Cost       O(n m)
    Reference  tests/core/reference_default.py::boa
    """
    m = regret.size
    for t in range(rating.size):
        if m == 1:
            out[t] = clipped[t, 0]
            continue
        _boa_weights(regret, spread, scratch)
        out[t] = _mixture(scratch, clipped, t)
        slope = _slope(out[t], rating[t])
        for e in range(m):
            r = slope * (out[t] - clipped[t, e])
            regret[e] += r - spread[2, e] * r * r
            spread[0, e] += r * r
            spread[1, e] = max(spread[1, e], abs(r))
        if share > 0.0:
            _boa_weights(regret, spread, scratch)
            _share_out(scratch, share)
            for e in range(m):
                regret[e] = np.log(scratch[e] / spread[2, e]) / spread[2, e]
