"""Bias and factors with a full covariance on each side: an assumed-density filter.

A row of one expert is bias, factors (k), then the lower triangle of the covariance of these k + 1, row by row.
"""

import numpy as np

from core.kernels.jit import helper, kernel
from core.types import F32, F64, I64

# columns of ``settings``, one row per expert
NOISE, CLIP_SIGMAS = range(2)


@helper
def _predict(u: F32, v: F32, first: int, rank: int, mean: float) -> float:
    """Return mean + both biases + the factors' product."""
    dot = np.float32(0.0)
    for d in range(first + 1, first + 1 + rank):
        dot += u[d] * v[d]
    return float(mean + u[first] + v[first] + dot)


@helper
def _spread(row: F32, partner: F32, first: int, rank: int, px: F32) -> float:
    """Write P x into ``px``, x = (1, partner's factors), and return x' P x."""
    at = first + rank + 1
    px[0] = row[at]
    at += 1
    for i in range(1, rank + 1):
        x = partner[first + i]
        px[0] += row[at] * x
        total = row[at]
        for j in range(1, i):
            p = row[at + j]
            total += p * partner[first + j]
            px[j] += p * x
        px[i] = total + row[at + i] * x
        at += i + 1
    variance = px[0]
    for i in range(1, rank + 1):
        variance += px[i] * partner[first + i]
    return float(variance)


@helper
def _overlap(u: F32, v: F32, first: int, rank: int) -> float:
    """Return the trace of the product of both sides' covariances of the factors."""
    off = np.float32(0.0)
    diagonal = np.float32(0.0)
    at = first + rank + 2
    for i in range(1, rank + 1):
        for j in range(1, i):
            off += u[at + j] * v[at + j]
        diagonal += u[at + i] * v[at + i]
        at += i + 1
    return float(diagonal + np.float32(2.0) * off)


@helper
def _correct(row: F32, first: int, rank: int, px: F32, error: float, variance: float) -> None:
    """Move the mean by P x e / S and shrink the covariance by P x x' P / S."""
    step = np.float32(error / variance)
    shrink = np.float32(1.0 / variance)
    at = first + rank + 1
    for i in range(rank + 1):
        row[first + i] += px[i] * step
        scaled = px[i] * shrink
        for j in range(i + 1):
            row[at + j] -= scaled * px[j]
        at += i + 1


@kernel
def kalman(
    user_rows: F32,
    item_rows: F32,
    user_ix: I64,
    item_ix: I64,
    rating: F64,
    mean: F64,
    first: I64,
    rank: I64,
    settings: F64,
    scratch: F32,
    predictions: F64,
) -> None:
    """Predict, then learn, n ratings with m experts; see the module docstring for the rows.

    Equation   p = mu + b_u + b_i + u.v; S = noise + x_u' P_u x_u + x_v' P_v x_v + tr(P_u P_v) (factors);
               m += P x e / S; P -= P x x' P / S; e clipped at clip_sigmas sqrt(S)
    Symbols    x_u = (1, v), x_v = (1, u) at time t · scratch (2, largest rank + 1) f32 · settings (m, 2)
               predictions (n, m) f64, not clipped
    Cost       O(n sum(rank^2)); allocates nothing
    Reference  tests/core/reference_default.py::kalman
    """
    px_u = scratch[0]
    px_v = scratch[1]
    for t in range(rating.size):
        u = user_rows[user_ix[t]]
        v = item_rows[item_ix[t]]
        for s in range(first.size):
            at, k = first[s], rank[s]
            p = _predict(u, v, at, k, mean[t])
            predictions[t, s] = p
            variance = settings[s, NOISE] + _overlap(u, v, at, k)
            variance += _spread(u, v, at, k, px_u) + _spread(v, u, at, k, px_v)
            bound = settings[s, CLIP_SIGMAS] * np.sqrt(variance)
            error = min(max(rating[t] - p, -bound), bound)
            _correct(u, at, k, px_u, error, variance)
            _correct(v, at, k, px_v, error, variance)


@kernel
def kalman_predict(
    user_rows: F32, item_rows: F32, mean: float, first: I64, rank: I64, predictions: F64
) -> None:
    """Predict n pairs of rows with m experts; nothing else changes.

    Equation   p = mu + b_u + b_i + u.v
    Symbols    user_rows, item_rows (n, width) f32 · predictions (n, m) f64, not clipped
    Reference  tests/core/reference_default.py::kalman_predict
    """
    for t in range(user_rows.shape[0]):
        for s in range(first.size):
            predictions[t, s] = _predict(user_rows[t], item_rows[t], first[s], rank[s], mean)
