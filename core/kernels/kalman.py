"""Bias and factors with a full covariance on each side: an assumed-density filter.

A row of one expert holds the bias, the k factors, then the lower triangle of the covariance of
these k + 1 numbers, row by row.
"""

import numpy as np

from core.kernels.jit import helper, kernel
from core.types import F32, F64, I64

# Columns of ``settings``, one row per expert.
NOISE, CLIP_SIGMAS = range(2)


@helper
def _predict(users: F32, items: F32, u: int, v: int, first: int, rank: int, mean: float) -> float:
    """Return mean + both biases + the product of the factors."""
    i, j, at = np.uint64(u), np.uint64(v), np.uint64(first + 1)
    dot = np.float32(0.0)
    for d in range(np.uint64(rank)):
        dot += users[i, at + d] * items[j, at + d]
    return float(mean + users[u, first] + items[v, first] + dot)


@helper
def _spread(users: F32, items: F32, u: int, v: int, first: int, rank: int, work: F32) -> float:
    """Write x_u, x_v, P_u x_u, P_v x_v into the rows of ``work``; return S without the noise.

    No loop both accumulates and writes, for the reason given at _dot in biased.py.
    """
    i, j, at = np.uint64(u), np.uint64(v), np.uint64(first)
    for d in range(np.uint64(rank + 1)):
        work[0, d] = items[j, at + d]
        work[1, d] = users[i, at + d]
    work[0, 0] = work[1, 0] = np.float32(1.0)
    at = np.uint64(first + rank + 1)
    variance = np.float32(0.0)
    for r in range(np.uint64(rank + 1)):
        at += r  # row r of the triangle is in columns at .. at + r
        x, y = work[0, r], work[1, r]
        sum_u = sum_v = overlap = np.float32(0.0)
        for c in range(r):
            sum_u += users[i, at + c] * work[0, c]
            sum_v += items[j, at + c] * work[1, c]
            overlap += users[i, at + c] * items[j, at + c]
        for c in range(r):
            work[2, c] += users[i, at + c] * x
            work[3, c] += items[j, at + c] * y
        own_u, own_v = users[i, at + r] * x, items[j, at + r] * y
        work[2, r] = sum_u + own_u
        work[3, r] = sum_v + own_v
        variance += x * (sum_u + sum_u + own_u) + y * (sum_v + sum_v + own_v)
        if r > 0:  # the trace is over the factors, without the bias column
            overlap -= users[i, at] * items[j, at]
            variance += overlap + overlap + users[i, at + r] * items[j, at + r]
    return float(variance)


@helper
def _correct(
    users: F32,
    items: F32,
    u: int,
    v: int,
    first: int,
    rank: int,
    work: F32,
    error: float,
    variance: float,
) -> None:
    """Move both means by P x e / S and shrink both covariances by P x x' P / S."""
    i, j = np.uint64(u), np.uint64(v)
    step, shrink = np.float32(error / variance), np.float32(1.0 / variance)
    mean = np.uint64(first)
    at = np.uint64(first + rank + 1)
    for r in range(np.uint64(rank + 1)):
        at += r
        users[i, mean + r] += work[2, r] * step
        items[j, mean + r] += work[3, r] * step
        scaled_u, scaled_v = work[2, r] * shrink, work[3, r] * shrink
        for c in range(r + np.uint64(1)):
            users[i, at + c] -= scaled_u * work[2, c]
            items[j, at + c] -= scaled_v * work[3, c]


@kernel
def kalman(
    users: F32,
    items: F32,
    user_ix: I64,
    item_ix: I64,
    rating: F64,
    mean: F64,
    first: I64,
    rank: I64,
    settings: F64,
    work: F32,
    predictions: F64,
) -> None:
    """Predict, then learn, n ratings with m experts; see the module docstring for the rows.

    Equation   p = mu + b_u + b_i + u.v;
               S = noise + x_u' P_u x_u + x_v' P_v x_v + tr(P_u P_v) (factors);
               m += P x e / S; P -= P x x' P / S; e clipped at clip_sigmas sqrt(S)
    Symbols    x_u = (1, v), x_v = (1, u) at time t · work (4, largest rank + 1) f32 scratch ·
               settings (m, 2) · predictions (n, m) f64, not clipped
    Cost       O(n sum(rank^2)); allocates nothing
    Reference  tests/core/reference_default.py::kalman
    """
    for t in range(rating.size):
        u, v = user_ix[t], item_ix[t]
        for s in range(first.size):
            at, k = first[s], rank[s]
            p = _predict(users, items, u, v, at, k, mean[t])
            predictions[t, s] = p
            variance = settings[s, NOISE] + _spread(users, items, u, v, at, k, work)
            bound = settings[s, CLIP_SIGMAS] * np.sqrt(variance)
            error = min(max(rating[t] - p, -bound), bound)
            _correct(users, items, u, v, at, k, work, error, variance)


@kernel
def kalman_predict(
    users: F32, items: F32, mean: float, first: I64, rank: I64, predictions: F64
) -> None:
    """Predict n pairs of rows with m experts; nothing is modified.

    Equation   p = mu + b_u + b_i + u.v
    Symbols    users, items (n, width) f32 · predictions (n, m) f64, not clipped
    Reference  tests/core/reference_default.py::kalman_predict
    """
    for t in range(users.shape[0]):
        for s in range(first.size):
            predictions[t, s] = _predict(users, items, t, t, first[s], rank[s], mean)
