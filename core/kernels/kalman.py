"""Bias and factors with a full covariance on each side: an assumed-density filter.

A row of one expert is bias, factors (k), then the lower triangle of the covariance of these k + 1, row by row.
"""

import numpy as np

from core.kernels.jit import helper, kernel
from core.types import F32, F64, I64

# columns of ``settings``, one row per expert
NOISE, CLIP_SIGMAS = range(2)


@helper
def _predict(users: F32, items: F32, u: int, v: int, first: int, rank: int, mean: float) -> float:
    """Return mean + both biases + the factors' product."""
    i, j, at = np.uint64(u), np.uint64(v), np.uint64(first + 1)
    dot = np.float32(0.0)
    for d in range(np.uint64(rank)):
        dot += users[i, at + d] * items[j, at + d]
    return float(mean + users[u, first] + items[v, first] + dot)


@helper
def _spread(
    rows: F32, row: int, partners: F32, partner: int, first: int, rank: int, px: F32, side: int
) -> float:
    """Write P x, x = (1, partner's factors), into ``px[side]`` and return x' P x."""
    r, q, k = np.uint64(row), np.uint64(partner), np.uint64(side)
    x = np.uint64(first)
    at = np.uint64(first + rank + 1)
    one = np.uint64(1)
    px[k, 0] = rows[r, at]
    variance = rows[r, at]
    for i in range(one, np.uint64(rank + 1)):
        at += i
        bias = rows[r, at]
        factor = partners[q, x + i]
        px[k, 0] += bias * factor
        total = np.float32(0.0)
        for j in range(one, i):
            total += rows[r, at + j] * partners[q, x + j]
        for j in range(one, i):
            px[k, j] += rows[r, at + j] * factor
        own = rows[r, at + i] * factor
        px[k, i] = bias + total + own
        variance += factor * (np.float32(2.0) * (bias + total) + own)
    return float(variance)


@helper
def _overlap(users: F32, items: F32, u: int, v: int, first: int, rank: int) -> float:
    """Return the trace of the product of both sides' covariances of the factors."""
    r, q = np.uint64(u), np.uint64(v)
    at = np.uint64(first + rank + 1)
    one = np.uint64(1)
    off = np.float32(0.0)
    diagonal = np.float32(0.0)
    for i in range(one, np.uint64(rank + 1)):
        at += i
        for j in range(one, i):
            off += users[r, at + j] * items[q, at + j]
        diagonal += users[r, at + i] * items[q, at + i]
    return float(diagonal + np.float32(2.0) * off)


@helper
def _correct(
    rows: F32, row: int, first: int, rank: int, px: F32, side: int, error: float, variance: float
) -> None:
    """Move the mean by P x e / S and shrink the covariance by P x x' P / S."""
    step = np.float32(error / variance)
    shrink = np.float32(1.0 / variance)
    r, k, x = np.uint64(row), np.uint64(side), np.uint64(first)
    at = np.uint64(first + rank + 1)
    for i in range(np.uint64(rank + 1)):
        at += i
        rows[r, x + i] += px[k, i] * step
        scaled = px[k, i] * shrink
        for j in range(i + np.uint64(1)):
            rows[r, at + j] -= scaled * px[k, j]


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
    px: F32,
    predictions: F64,
) -> None:
    """Predict, then learn, n ratings with m experts; see the module docstring for the rows.

    Equation   p = mu + b_u + b_i + u.v; S = noise + x_u' P_u x_u + x_v' P_v x_v + tr(P_u P_v) (factors);
               m += P x e / S; P -= P x x' P / S; e clipped at clip_sigmas sqrt(S)
    Symbols    x_u = (1, v), x_v = (1, u) at time t · px (2, largest rank + 1) f32 scratch · settings (m, 2) ·
               predictions (n, m) f64, not clipped
    Cost       O(n sum(rank^2)); allocates nothing
    Reference  tests/core/reference_default.py::kalman
    """
    for t in range(rating.size):
        u, v = user_ix[t], item_ix[t]
        for s in range(first.size):
            at, k = first[s], rank[s]
            p = _predict(users, items, u, v, at, k, mean[t])
            predictions[t, s] = p
            variance = settings[s, NOISE] + _overlap(users, items, u, v, at, k)
            variance += _spread(users, u, items, v, at, k, px, 0)
            variance += _spread(items, v, users, u, at, k, px, 1)
            bound = settings[s, CLIP_SIGMAS] * np.sqrt(variance)
            error = min(max(rating[t] - p, -bound), bound)
            _correct(users, u, at, k, px, 0, error, variance)
            _correct(items, v, at, k, px, 1, error, variance)


@kernel
def kalman_predict(
    users: F32, items: F32, mean: float, first: I64, rank: I64, predictions: F64
) -> None:
    """Predict n pairs of rows with m experts; nothing else changes.

    Equation   p = mu + b_u + b_i + u.v
    Symbols    users, items (n, width) f32 · predictions (n, m) f64, not clipped
    Reference  tests/core/reference_default.py::kalman_predict
    """
    for t in range(users.shape[0]):
        for s in range(first.size):
            predictions[t, s] = _predict(users, items, t, t, first[s], rank[s], mean)
