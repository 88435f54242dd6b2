"""Naive twins of the default set's kernels, to be read beside the formulas: numpy, float64.

Same names and arguments as the kernels; scratch arguments are ignored.
"""

import numpy as np

from core.kernels import aggregate
from core.kernels import interval as intervals
from core.kernels.biased import (
    BIAS_DECAY,
    CAP,
    DELTA_BIAS,
    DELTA_FACTOR,
    EPS,
    GAIN_BIAS,
    GAIN_FACTOR,
    GROWTH,
    JOINT,
    REG,
)
from core.kernels.kalman import CLIP_SIGMAS, NOISE

# --- biased experts -------------------------------------------------------------------------------


def biased(users, items, user_ix, item_ix, rating, mean, first, rank, settings, gain, predictions):
    for t, (u, v) in enumerate(zip(user_ix, item_ix, strict=True)):
        for s, (at, k) in enumerate(zip(first, rank, strict=True)):
            rows = users[u, at:], items[v, at:]
            predictions[t, s] = _bilinear(*rows, k, mean[t])
            _step(*rows, k, rating[t] - predictions[t, s], settings[s])


def biased_predict(users, items, mean, first, rank, predictions):
    for t in range(len(users)):
        for s, (at, k) in enumerate(zip(first, rank, strict=True)):
            predictions[t, s] = _bilinear(users[t, at:], items[t, at:], k, mean)


def resolved(
    users,
    items,
    ring_item,
    ring_rating,
    ring_count,
    user_ix,
    item_ix,
    rating,
    mean,
    first,
    rank,
    settings,
    gain,
    x,
    gram,
    solution,
    predictions,
):
    for t, (u, v) in enumerate(zip(user_ix, item_ix, strict=True)):
        slot = ring_count[u] % ring_item.shape[1]
        ring_item[u, slot], ring_rating[u, slot] = v, rating[t]
        ring_count[u] += 1
        for s, (at, k) in enumerate(zip(first, rank, strict=True)):
            rows = users[u, at:], items[v, at:]
            predictions[t, s] = _bilinear(*rows, k, mean[t])
            _step(*rows, k, rating[t] - predictions[t, s], settings[s])
            seen = 2 * k + 2
            for row in rows:
                row[seen] += 1.0
            if rows[0][seen] >= rows[0][seen + 1]:
                rows[0][seen + 1] = settings[s, GROWTH] * rows[0][seen] + 1.0
                valid = min(ring_count[u], ring_item.shape[1])
                known = items[ring_item[u, :valid], at:]
                left = ring_rating[u, :valid] - mean[t] - known[:, 0]
                rows[0][: k + 1] = _ridge(known[:, 1 : k + 1], left, settings[s, REG])


def _bilinear(user, item, rank, mean):
    return mean + user[0] + item[0] + user[1 : rank + 1] @ item[1 : rank + 1]


def _step(user, item, k, error, s):
    """One rating; a row is bias, factors, then the accumulators of both."""
    loss = min(max(abs(error) - s[EPS], 0.0), s[CAP])
    if loss <= 0.0:
        return
    a = np.concatenate([s[[GAIN_BIAS]], np.full(k, s[GAIN_FACTOR])])
    delta = np.concatenate([s[[DELTA_BIAS]], np.full(k, s[DELTA_FACTOR])])
    sides = []
    for row, partner in ((user, item), (item, user)):
        x = np.concatenate([[1.0], partner[1 : k + 1]])
        row[k + 1 : 2 * k + 2] += x * x
        g = a * x / np.sqrt(delta + row[k + 1 : 2 * k + 2])
        sides.append((row, g, g @ x))
    joint = 1.0 + sides[0][2] + sides[1][2]
    for row, g, spread in sides:
        tau = loss / (joint if s[JOINT] else 1.0 + spread)
        row[: k + 1] += np.sign(error) * tau * g
        row[0] /= 1.0 + s[BIAS_DECAY] * g[0]


def _ridge(factors, left, reg):
    x = np.column_stack([np.ones(len(left)), factors])
    return np.linalg.solve(reg * np.eye(x.shape[1]) + x.T @ x, x.T @ left)


# --- full covariance ------------------------------------------------------------------------------


def kalman(users, items, user_ix, item_ix, rating, mean, first, rank, settings, work, predictions):
    for t, (u, v) in enumerate(zip(user_ix, item_ix, strict=True)):
        for s, (at, k) in enumerate(zip(first, rank, strict=True)):
            _observe(
                users[u, at:], items[v, at:], k, rating[t], mean[t], settings[s], predictions[t, s:]
            )


def kalman_predict(users, items, mean, first, rank, predictions):
    biased_predict(users, items, mean, first, rank, predictions)


def _observe(user, item, k, rating, mean, settings, prediction):
    prediction[0] = _bilinear(user, item, k, mean)
    x = [np.concatenate([[1.0], partner[1 : k + 1]]) for partner in (item, user)]
    p = [_covariance(row, k) for row in (user, item)]
    s = settings[NOISE] + np.trace(p[0][1:, 1:] @ p[1][1:, 1:])
    s += sum(x[side] @ p[side] @ x[side] for side in (0, 1))
    bound = settings[CLIP_SIGMAS] * np.sqrt(s)
    error = np.clip(rating - prediction[0], -bound, bound)
    lower = np.tril_indices(k + 1)
    for side, row in enumerate((user, item)):
        px = p[side] @ x[side]
        row[: k + 1] += px * error / s
        row[k + 1 : k + 1 + lower[0].size] = (p[side] - np.outer(px, px) / s)[lower]


def _covariance(row, k):
    p = np.zeros((k + 1, k + 1))
    lower = np.tril_indices(k + 1)
    p[lower] = row[k + 1 : k + 1 + lower[0].size]
    return p + np.tril(p, -1).T


# --- from many predictions to one -----------------------------------------------------------------


def running_mean(rating, total, mean):
    for t, y in enumerate(rating):
        mean[t] = (3.0 + total[0]) / (1.0 + total[1])
        total += y, 1.0


def context(users, items, user_ix, item_ix, rating, clipped, out):
    for t, (u, v) in enumerate(zip(user_ix, item_ix, strict=True)):
        out[t] = _known(users[u], items[v], clipped[t])
        residual = np.clip(rating[t] - clipped[t].mean(), -1.5, 1.5)
        for row, keep in ((users[u], 0.8), (items[v], 0.95)):
            row[2] += 1.0
            row[3] = keep * row[3] + residual
            row[4] = keep * row[4] + 1.0


def context_predict(users, items, clipped, out):
    for t in range(len(users)):
        out[t] = _known(users[t], items[t], clipped[t])


def _known(user, item, clipped):
    averages = (row[3] / (row[4] + 3.0) for row in (user, item))
    return np.array([clipped.mean(), user[2], item[2], *averages])


def stack(clipped, known, rating, covariance, weight, x, g, low, high, out):
    for t, y in enumerate(rating):
        x = _features(clipped[t], known[t])
        base = known[t, 0]
        median, mean = base + weight @ x
        out[t] = np.clip([median, mean], low, high)
        g = covariance @ x
        gain = 1.0 / (1.0 + x @ g)
        weight += gain * np.outer([np.clip(y - median, -1.0, 1.0), y - mean], g)
        covariance -= gain * np.outer(g, g)
        diagonal = np.diag_indices(len(x))
        covariance[diagonal] += 1e-7 * (0.1 - covariance[diagonal])


def stack_predict(clipped, known, weight, x, low, high, out):
    for t in range(len(clipped)):
        out[t] = np.clip(known[t, 0] + weight @ _features(clipped[t], known[t]), low, high)


def _features(clipped, known):
    base, n_u, n_i, *averages = known
    z = base - 3.0
    counts = np.log(1.0 + n_u) / 3.0 - 1.0, np.log(1.0 + n_i) / 4.0 - 1.0
    return np.array([*(clipped - base), 1.0, z, *counts, z * z, *averages])


def hedge(clipped, rating, log_beta, share, log_weight, loss, scratch, out):
    """Return the normalised weights; without fixed share the kernel leaves them unnormalised."""
    for t, y in enumerate(rating):
        weight = _softmax(log_weight)
        if out.size:
            out[t] = weight @ clipped[t]
        lost = abs(clipped[t] - y) / 4.0
        loss[0] += lost
        loss[1] = aggregate.KEEP_LOSS * loss[1] + lost
        weight *= np.exp(log_beta) ** lost
        weight = (1.0 - share) * weight / weight.sum() + share / weight.size
        log_weight[:] = np.log(weight)


def exponentiated_gradient(clipped, rating, share, regret, spread, scratch, out):
    for t, y in enumerate(rating):
        out[t] = _softmax(_rate(regret, spread) * regret) @ clipped[t]
        r = _direction(out[t] - y) * (out[t] - clipped[t]) / 4.0
        regret += r
        spread += max(r * r)
        eta = _rate(regret, spread)
        if share and eta > 0.0:
            shared = (1.0 - share) * _softmax(eta * regret) + share / regret.size
            regret[:] = np.log(shared) / eta


def _rate(regret, spread):
    return np.sqrt(np.log(regret.size) / spread[0]) if spread[0] else 0.0


def _direction(error):
    return 0.0 if abs(error) <= 1e-9 else np.sign(error)


def boa(clipped, rating, share, regret, spread, scratch, out):
    for t, y in enumerate(rating):
        if regret.size == 1:
            out[t] = clipped[t, 0]
            continue
        out[t] = _boa_weight(regret, spread) @ clipped[t]
        r = _direction(out[t] - y) * (out[t] - clipped[t]) / 4.0
        regret += r - spread[2] * r * r
        spread[0] += r * r
        spread[1] = np.maximum(spread[1], abs(r))
        if share:
            shared = (1.0 - share) * _boa_weight(regret, spread) + share / regret.size
            regret[:] = np.log(shared / spread[2]) / spread[2]


def _boa_weight(regret, spread):
    seen = spread[0] > 0.0
    variance, largest = spread[:2, seen]
    spread[2, seen] = np.minimum(1.0 / largest, np.sqrt(np.log(regret.size) / variance))
    return _softmax(spread[2] * regret + np.log(spread[2]))


def _softmax(score):
    weight = np.exp(score - score.max())
    return weight / weight.sum()


# --- intervals ------------------------------------------------------------------------------------


def interval(center, known, rating, histogram, weight, bounds, mixed, low, high, out):
    for t, y in enumerate(rating):
        k = _bucket(known[t])
        out[t] = np.clip(center[t] + bounds[k, :2], low, high)
        residual = np.clip(y - center[t], -4.0, 4.0)
        histogram[k, int((residual + 4.0) / intervals.WIDTH + 0.5)] += weight[k]
        weight[k] *= intervals.GROWTH
        bounds[k, 2] -= 1.0
        if bounds[k, 2] <= 0.0:
            everything = (histogram / weight[:, None]).sum(axis=0)
            everything[40 - 18 : 40 + 18 + 1] += 40.0 / 37
            mix = histogram[k] / weight[k] + intervals.PSEUDO * everything / everything.sum()
            quantiles = min(_quantile(mix, 0.1), 0.0), max(_quantile(mix, 0.9), 0.0)
            bounds[k] = *quantiles, intervals.REFRESH
        if weight[k] > intervals.LIMIT:
            histogram[k] /= weight[k]
            weight[k] = 1.0


def interval_predict(center, known, bounds, low, high, out):
    for t in range(len(center)):
        out[t] = np.clip(center[t] + bounds[_bucket(known[t]), :2], low, high)


def _bucket(known):
    limits = (5.0, 20.0, 80.0)
    user, item = (int(np.searchsorted(limits, count, side="right")) for count in known[1:3])
    return 4 * user + item


def _quantile(histogram, q):
    """Residuals of a bin lie evenly over its width; bin b is centred at b WIDTH - 4."""
    target = q * histogram.sum()
    up_to = np.cumsum(histogram)
    b = int(np.searchsorted(up_to, target))
    inside = (target - up_to[b] + histogram[b]) / histogram[b]
    return (b - 0.5 + inside) * intervals.WIDTH - 4.0
