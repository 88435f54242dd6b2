"""Biased factor models: diagonal APA-II steps on biases and free factors, and re-solved users.

A row of one expert holds the bias, the k factors, then their accumulators in the same order. Rows
of ``resolved`` end with two more floats: the ratings seen, and the count at which the user's row is
solved next.
"""

import numpy as np

from core.kernels.jit import helper, kernel
from core.types import F32, F64, I32, I64

# Columns of ``settings``, one row per expert.
GAIN_BIAS, GAIN_FACTOR, DELTA_BIAS, DELTA_FACTOR, EPS, CAP, BIAS_DECAY, JOINT = range(8)
REG, GROWTH = 8, 9

BLOCK = 32


@helper
def _dot(users: F32, items: F32, u: int, v: int, first: int, rank: int) -> float:
    """Return the product of both sides' factors.

    All loops of this file index whole tables with unsigned numbers. A view of a row would cost a
    reference count, and a signed index a test whether it counts from the end; both prevent
    vectorisation. No loop both accumulates and writes: such a loop would be compiled with a
    run-time test whether the arrays overlap, and the order of the additions would depend on its
    outcome.
    """
    at = np.uint64(first + 1)
    row_u, row_v = np.uint64(u), np.uint64(v)
    total = np.float32(0.0)
    for d in range(np.uint64(rank)):
        total += users[row_u, at + d] * items[row_v, at + d]
    return float(total)


@helper
def _step(
    users: F32,
    items: F32,
    u: int,
    v: int,
    first: int,
    rank: int,
    error: float,
    settings: F64,
    s: int,
    gain: F32,
) -> None:
    """Learn one rating on both sides, each from the other side's previous vector."""
    loss = min(max(abs(error) - settings[s, EPS], 0.0), settings[s, CAP])
    if loss <= 0.0:
        return
    i, j = np.uint64(u), np.uint64(v)
    at, bias_at = np.uint64(first + 1), np.uint64(first + 1 + rank)
    squares = bias_at + np.uint64(1)
    n = np.uint64(rank)
    a, delta = np.float32(settings[s, GAIN_FACTOR]), np.float32(settings[s, DELTA_FACTOR])
    for d in range(n):
        x, y = items[j, at + d], users[i, at + d]
        users[i, squares + d] += x * x
        items[j, squares + d] += y * y
        gain[0, d] = a * x / np.sqrt(delta + users[i, squares + d])
        gain[1, d] = a * y / np.sqrt(delta + items[j, squares + d])
    sum_u = sum_v = np.float32(0.0)
    for d in range(n):
        sum_u += gain[0, d] * items[j, at + d]
        sum_v += gain[1, d] * users[i, at + d]
    users[i, bias_at] += np.float32(1.0)
    items[j, bias_at] += np.float32(1.0)
    gain_u = settings[s, GAIN_BIAS] / np.sqrt(settings[s, DELTA_BIAS] + users[i, bias_at])
    gain_v = settings[s, GAIN_BIAS] / np.sqrt(settings[s, DELTA_BIAS] + items[j, bias_at])
    total_u = 1.0 + gain_u + sum_u
    total_v = 1.0 + gain_v + sum_v
    if settings[s, JOINT] > 0.0:
        total_u = total_v = total_u + total_v - 1.0
    signed = loss if error > 0.0 else -loss
    tau_u, tau_v = signed / total_u, signed / total_v
    decay = settings[s, BIAS_DECAY]
    users[u, first] = (users[u, first] + tau_u * gain_u) / (1.0 + decay * gain_u)
    items[v, first] = (items[v, first] + tau_v * gain_v) / (1.0 + decay * gain_v)
    step_u, step_v = np.float32(tau_u), np.float32(tau_v)
    for d in range(n):
        users[i, at + d] += step_u * gain[0, d]
        items[j, at + d] += step_v * gain[1, d]


@kernel
def biased(
    users: F32,
    items: F32,
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

    Equation   p = mu + b_u + b_i + u.v; H += x x; g = a x / sqrt(delta + H);
               tau = l / (1 + g_u.x_u + g_v.x_v); u += tau sgn(e) g;
               b = (b + tau sgn(e) g_b) / (1 + decay g_b)                 [NN-APA, Alg. 1, eq. 7]
    Symbols    x partner's vector at time t, 1 for a bias · a = 2 C ·
               l = min(max(|e| - eps, 0), cap), no update at l = 0 · users, items (capacity, width)
               f32 · gain (2, largest rank) f32 scratch · settings (m, 8) · predictions (n, m) f64,
               not clipped
    Cost       O(n sum(rank)); allocates nothing
    Differs    biases are coordinates with a step size of their own, factors may be negative, the
               loss is capped; with JOINT = 0 each side has its own tau
    Reference  tests/core/reference_default.py::biased
    """
    for t in range(rating.size):
        u, v = user_ix[t], item_ix[t]
        for s in range(first.size):
            at, k = first[s], rank[s]
            p = mean[t] + users[u, at] + items[v, at] + _dot(users, items, u, v, at, k)
            predictions[t, s] = p
            _step(users, items, u, v, at, k, rating[t] - p, settings, s, gain)


@kernel
def biased_predict(
    users: F32, items: F32, mean: float, first: I64, rank: I64, predictions: F64
) -> None:
    """Predict n pairs of rows with m experts; nothing is modified.

    Equation   p = mu + b_u + b_i + u.v
    Symbols    users, items (n, width) f32 · predictions (n, m) f64, not clipped
    Reference  tests/core/reference_default.py::biased_predict
    """
    for t in range(users.shape[0]):
        for s in range(first.size):
            at = first[s]
            dot = _dot(users, items, t, t, at, rank[s])
            predictions[t, s] = mean + users[t, at] + items[t, at] + dot


@helper
def _gather(
    items: F32,
    ring_item: I32,
    ring_rating: F32,
    user: int,
    count: int,
    first: int,
    rank: int,
    mean: float,
    x: F32,
) -> int:
    """Write the user's ring, oldest first, into the columns of ``x``.

    A column holds the item's factors, 1, and the rating minus mean and item bias. Zeros fill it up
    to the next multiple of BLOCK columns, which is returned, so that later loops need no remainder.
    """
    size = ring_item.shape[1]
    valid = min(count, size)
    slot = (count - valid) % size
    mu = np.float32(mean)
    at = np.uint64(first + 1)
    for t in range(valid):
        v = np.uint64(ring_item[user, slot])
        for d in range(np.uint64(rank)):
            x[d, t] = items[v, at + d]
        x[rank, t] = np.float32(1.0)
        x[rank + 1, t] = ring_rating[user, slot] - mu - items[v, first]
        slot = slot + 1 if slot + 1 < size else 0
    padded = (valid + BLOCK - 1) // BLOCK * BLOCK
    for d in range(rank + 2):
        for t in range(valid, padded):
            x[d, t] = np.float32(0.0)
    return int(padded)


@helper
def _products(x: F32, i: int, j: int, length: int, gram: F32) -> None:
    """Write the four products of rows i, i + 1 with rows j, j + 1."""
    a, c = np.uint64(i), np.uint64(j)
    b, d = np.uint64(i + 1), np.uint64(j + 1)
    ac = ad = bc = bd = np.float32(0.0)
    for t in range(np.uint64(length)):
        ac += x[a, t] * x[c, t]
        ad += x[a, t] * x[d, t]
        bc += x[b, t] * x[c, t]
        bd += x[b, t] * x[d, t]
    gram[i, j] = ac
    gram[i, j + 1] = ad
    gram[i + 1, j] = bc
    gram[i + 1, j + 1] = bd


@helper
def _row_dot(gram: F32, i: int, j: int, length: int) -> np.float32:
    """Return the dot product of the first ``length`` entries of two rows."""
    a, b = np.uint64(i), np.uint64(j)
    total = np.float32(0.0)
    for c in range(np.uint64(length)):
        total += gram[a, c] * gram[b, c]
    return total


@helper
def _four_row_dots(gram: F32, i: int, j: int, pivot: np.float32) -> None:
    """Compute column i of the Cholesky factor in rows j .. j + 3."""
    row, k = np.uint64(i), np.uint64(j)
    l, m, n = np.uint64(j + 1), np.uint64(j + 2), np.uint64(j + 3)
    a = b = c = d = np.float32(0.0)
    for t in range(row):
        a += gram[row, t] * gram[k, t]
        b += gram[row, t] * gram[l, t]
        c += gram[row, t] * gram[m, t]
        d += gram[row, t] * gram[n, t]
    gram[k, row] = (gram[k, row] - a) * pivot
    gram[l, row] = (gram[l, row] - b) * pivot
    gram[m, row] = (gram[m, row] - c) * pivot
    gram[n, row] = (gram[n, row] - d) * pivot


@helper
def _cholesky_solve(gram: F32, size: int, solution: F32) -> None:
    """Solve for the right-hand side in row ``size`` of ``gram``.

    The lower triangle of ``gram`` is overwritten.
    """
    for i in range(size):
        pivot = np.float32(1.0) / np.sqrt(gram[i, i] - _row_dot(gram, i, i, i))
        gram[i, i] = pivot
        left = i + 1 + (size - i) // 4 * 4
        for j in range(i + 1, left, 4):
            _four_row_dots(gram, i, j, pivot)
        for j in range(left, size + 1):
            gram[j, i] = (gram[j, i] - _row_dot(gram, i, j, i)) * pivot
    for i in range(size - 1, -1, -1):
        total = gram[size, i]
        for j in range(i + 1, size):
            total -= gram[j, i] * solution[j]
        solution[i] = total * gram[i, i]


@kernel
def resolved(
    users: F32,
    items: F32,
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
    x: F32,
    gram: F32,
    solution: F32,
    predictions: F64,
) -> None:
    """Predict and learn as ``biased``, then add the rating to the user's ring and maybe re-solve.

    When the user's count has grown enough, the user's row is solved anew over the ring.

    Equation   (lambda I + sum x x') w = sum x (r - mu - b_i), x = (factors of i, 1), w = (u, b_u);
               solved when seen >= next, next = growth seen + 1
    Symbols    ring_* as in UserTable · lambda = settings[:, 8], growth = settings[:, 9] · mu before
               the event · scratch, f32, r = largest rank: x (r + 3, ring, a multiple of BLOCK),
               gram (r + 3, r + 3), solution (r + 1,)
    Cost       O(rank) an event and O(ring rank^2 + rank^3) a solution: amortised
               O(rank^2 / (growth - 1)) an event
    Differs    between two solutions the ordinary step applies; the ring is read oldest first,
               wherever it starts, so that a ring refilled from the history gives the same bits
    Reference  tests/core/reference_default.py::resolved
    """
    for t in range(rating.size):
        u, v = user_ix[t], item_ix[t]
        slot = ring_count[u] % ring_item.shape[1]
        ring_item[u, slot] = v
        ring_rating[u, slot] = rating[t]
        ring_count[u] += 1
        for s in range(first.size):
            at, k = first[s], rank[s]
            p = mean[t] + users[u, at] + items[v, at] + _dot(users, items, u, v, at, k)
            predictions[t, s] = p
            _step(users, items, u, v, at, k, rating[t] - p, settings, s, gain)
            seen = at + 2 * k + 2
            users[u, seen] += np.float32(1.0)
            items[v, seen] += np.float32(1.0)
            if users[u, seen] < users[u, seen + 1]:
                continue
            users[u, seen + 1] = settings[s, GROWTH] * users[u, seen] + 1.0
            length = _gather(items, ring_item, ring_rating, u, ring_count[u], at, k, mean[t], x)
            for i in range(0, k + 2, 2):
                for j in range(0, i + 1, 2):
                    _products(x, i, j, length, gram)
            for d in range(k + 1):
                gram[d, d] += np.float32(settings[s, REG])
            _cholesky_solve(gram, k + 1, solution)
            users[u, at] = solution[k]
            for d in range(k):
                users[u, at + 1 + d] = solution[d]
