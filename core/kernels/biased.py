"""Biased factor models: diagonal APA-II steps on biases and free factors, and users solved anew.

A row of one expert is bias, factors (k), then the accumulators of both in the same order; ``Resolved``
has two more floats, ratings seen and the count at which the user is solved next.
"""

import numpy as np

from core.kernels.jit import helper, kernel
from core.types import F32, F64, I32, I64

# columns of ``settings``, one row per expert
GAIN_BIAS, GAIN_FACTOR, DELTA_BIAS, DELTA_FACTOR, EPS, CAP, BIAS_DECAY, JOINT = range(8)
REG, GROWTH = 8, 9


@helper
def _predict(u: F32, v: F32, first: int, rank: int, mean: float) -> float:
    """Return mean + both biases + the factors' product."""
    dot = np.float32(0.0)
    for d in range(first + 1, first + 1 + rank):
        dot += u[d] * v[d]
    return float(mean + u[first] + v[first] + dot)


@helper
def _bias_step(row: F32, at: int, seen: int, delta: float, gain: float) -> float:
    """Count the bias's constant partner and return the gain of its step."""
    row[seen] += np.float32(1.0)
    return float(gain / np.sqrt(delta + row[seen]))


@helper
def _step(u: F32, v: F32, first: int, rank: int, error: float, s: F64, gain: F32) -> None:
    """Learn one rating on both sides, each from the other's vector of before."""
    loss = min(max(abs(error) - s[EPS], 0.0), s[CAP])
    if loss <= 0.0:
        return
    seen = first + 1 + rank
    gain_u = _bias_step(u, first, seen, s[DELTA_BIAS], s[GAIN_BIAS])
    gain_v = _bias_step(v, first, seen, s[DELTA_BIAS], s[GAIN_BIAS])
    delta = np.float32(s[DELTA_FACTOR])
    a = np.float32(s[GAIN_FACTOR])
    sum_u = np.float32(0.0)
    sum_v = np.float32(0.0)
    for d in range(rank):
        x = v[first + 1 + d]
        y = u[first + 1 + d]
        seen_u = u[seen + 1 + d] + x * x
        seen_v = v[seen + 1 + d] + y * y
        u[seen + 1 + d] = seen_u
        v[seen + 1 + d] = seen_v
        g = a * x / np.sqrt(delta + seen_u)
        h = a * y / np.sqrt(delta + seen_v)
        gain[0, d] = g
        gain[1, d] = h
        sum_u += g * x
        sum_v += h * y
    total_u = 1.0 + gain_u + sum_u
    total_v = 1.0 + gain_v + sum_v
    if s[JOINT] > 0.0:
        total_u = total_v = total_u + total_v - 1.0
    signed = loss if error > 0.0 else -loss
    tau_u = np.float32(signed / total_u)
    tau_v = np.float32(signed / total_v)
    u[first] = (u[first] + tau_u * gain_u) / (1.0 + s[BIAS_DECAY] * gain_u)
    v[first] = (v[first] + tau_v * gain_v) / (1.0 + s[BIAS_DECAY] * gain_v)
    for d in range(rank):
        u[first + 1 + d] += tau_u * gain[0, d]
        v[first + 1 + d] += tau_v * gain[1, d]


@kernel
def biased(
    user_rows: F32,
    item_rows: F32,
    user_ix: I64,
    item_ix: I64,
    rating: F64,
    mean: F64,
    first: I64,
    rank: I64,
    settings: F64,
    gain: F32,
    predictions: F64,
) -> None:
    """Predict, then learn, n ratings with m experts; see the module docstring for the rows.

    Equation   p = mu + b_u + b_i + u.v; H += x x; g = a x / sqrt(delta + H); tau = l / (1 + g_u.x_u + g_v.x_v);
               u += tau sgn(e) g; b = (b + tau sgn(e) g_b) / (1 + decay g_b)          [NN-APA, Alg. 1, eq. 7]
    Symbols    x partner's vector at time t, 1 for a bias · a = 2 C · l = min(max(|e| - eps, 0), cap), none: no change
               gain (2, largest rank) f32 scratch · settings (m, 8) · predictions (n, m) f64, not clipped
    Cost       O(n sum(rank)); allocates nothing
    Differs    biases are coordinates with a step of their own, factors may be negative, the loss is capped;
               with JOINT = 0 each side has its own tau
    Reference  tests/core/reference_default.py::biased
    """
    for t in range(rating.size):
        u = user_rows[user_ix[t]]
        v = item_rows[item_ix[t]]
        for s in range(first.size):
            p = _predict(u, v, first[s], rank[s], mean[t])
            predictions[t, s] = p
            _step(u, v, first[s], rank[s], rating[t] - p, settings[s], gain)


@kernel
def biased_predict(
    user_rows: F32, item_rows: F32, mean: float, first: I64, rank: I64, predictions: F64
) -> None:
    """Predict n pairs of rows with m experts; nothing else changes.

    Equation   p = mu + b_u + b_i + u.v
    Symbols    user_rows, item_rows (n, width) f32 · predictions (n, m) f64, not clipped
    Reference  tests/core/reference_default.py::biased_predict
    """
    for t in range(user_rows.shape[0]):
        for s in range(first.size):
            predictions[t, s] = _predict(user_rows[t], item_rows[t], first[s], rank[s], mean)


@helper
def _gather(
    items: F32, ring_item: I32, ring_rating: F32, count: int, first: int, rank: int, gram: F32
) -> None:
    """Sum x x' and x y over the ring, oldest first, into the rows of ``gram``.

    x = (factors, 1), y = rating - b_i; row rank + 1 holds the sums of x y. The mean is left to the caller.
    """
    size = ring_item.size
    valid = min(count, size)
    oldest = count - valid
    one = rank
    gram[: rank + 2, : rank + 1] = np.float32(0.0)
    for t in range(oldest, count):
        v = items[ring_item[t % size]]
        y = ring_rating[t % size] - v[first]
        for i in range(rank):
            x = v[first + 1 + i]
            for j in range(rank):
                gram[i, j] += x * v[first + 1 + j]
        for j in range(rank):
            gram[one, j] += v[first + 1 + j]
            gram[one + 1, j] += y * v[first + 1 + j]
        gram[one + 1, rank] += y
    gram[one, rank] = np.float32(valid)


@helper
def _cholesky_solve(gram: F32, size: int) -> None:
    """Replace row ``size`` of ``gram`` (the right side) by the solution; rows 0..size-1 are the matrix."""
    b = gram[size]
    for i in range(size):
        pivot = np.float32(1.0) / np.sqrt(gram[i, i])
        for j in range(i, size + 1):
            gram[j, i] *= pivot
        for j in range(i + 1, size + 1):
            factor = gram[j, i]
            for c in range(i + 1, min(j + 1, size)):
                gram[j, c] -= factor * gram[c, i]
        gram[i, i] = pivot
    for i in range(size - 1, -1, -1):
        b[i] *= gram[i, i]
        for j in range(i):
            b[j] -= gram[i, j] * b[i]


@helper
def _solve_user(
    u: F32,
    items: F32,
    ring_item: I32,
    ring_rating: F32,
    count: int,
    first: int,
    rank: int,
    mean: float,
    reg: float,
    gram: F32,
) -> None:
    """Write the ridge solution over the ring into the user's bias and factors."""
    _gather(items, ring_item, ring_rating, count, first, rank, gram)
    for j in range(rank + 1):
        gram[rank + 1, j] -= np.float32(mean) * gram[rank, j]
        gram[j, j] += np.float32(reg)
    _cholesky_solve(gram, rank + 1)
    u[first] = gram[rank + 1, rank]
    for d in range(rank):
        u[first + 1 + d] = gram[rank + 1, d]


@kernel
def resolved(
    user_rows: F32,
    item_rows: F32,
    ring_item: I32,
    ring_rating: F32,
    ring_count: I64,
    user_ix: I64,
    item_ix: I64,
    rating: F64,
    mean: F64,
    first: I64,
    rank: I64,
    settings: F64,
    gain: F32,
    gram: F32,
    predictions: F64,
) -> None:
    """As ``biased``; the rating then enters the user's ring, and when the user's count has grown enough
    the user's row is solved anew over the ring.

    Equation   (lambda I + sum x x') w = sum x (r - mu - b_i), x = (factors of i, 1), w = (u, b_u);
               solved when seen >= next, next = growth seen + 1
    Symbols    ring_* as in UserTable · lambda = settings[:, 8], growth = settings[:, 9] · mu before the event
               gram (largest rank + 2, largest rank + 1) f32 scratch
    Cost       O(rank) an event and O(ring rank^2 + rank^3) a solution: rank^2 / (growth - 1) amortised
    Differs    between two solutions the ordinary step; the ring is walked oldest first, wherever it starts,
               so that a ring filled anew from the history gives the same bits
    Reference  tests/core/reference_default.py::resolved
    """
    for t in range(rating.size):
        user = user_ix[t]
        u = user_rows[user]
        v = item_rows[item_ix[t]]
        slot = ring_count[user] % ring_item.shape[1]
        ring_item[user, slot] = item_ix[t]
        ring_rating[user, slot] = rating[t]
        ring_count[user] += 1
        for s in range(first.size):
            p = _predict(u, v, first[s], rank[s], mean[t])
            predictions[t, s] = p
            _step(u, v, first[s], rank[s], rating[t] - p, settings[s], gain)
            seen = first[s] + 2 * rank[s] + 2
            u[seen] += np.float32(1.0)
            v[seen] += np.float32(1.0)
            if u[seen] >= u[seen + 1]:
                u[seen + 1] = settings[s, GROWTH] * u[seen] + 1.0
                _solve_user(
                    u,
                    item_rows,
                    ring_item[user],
                    ring_rating[user],
                    ring_count[user],
                    first[s],
                    rank[s],
                    mean[t],
                    settings[s, REG],
                    gram,
                )
