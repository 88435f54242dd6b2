"""Naive twins of the kernels of non-negative experts, to be read beside the paper: numpy, float64.

Same names and arguments as the kernels; scratch arguments are ignored.
"""

from itertools import product

import numpy as np

from core.kernels.passive_aggressive import DIAGONAL, FULL, PA, PA1, SGD
from core.rng import mix


def passive_aggressive(
    experts,
    first_column,
    users,
    items,
    user_ix,
    item_ix,
    rating,
    sequence,
    rho,
    log_beta,
    low,
    high,
    log_weights,
    updates,
    scratch,
    predictions,
):
    for n in range(user_ix.size):
        rows = users[user_ix[n], first_column:], items[item_ix[n], first_column:]
        for s, expert in enumerate(experts):
            predictions[n, s] = _factors(expert, rows[0]) @ _factors(expert, rows[1])
        weight = np.exp(log_weights - log_weights.max())
        for s, expert in enumerate(experts):
            q = (1.0 - rho) * weight[s] + rho
            if rho == 1.0 or _draw(sequence[n], expert["key"]) < q:
                updates[s] += _update(expert, rating[n] - predictions[n, s], *rows)
        if rho < 1.0:
            loss = np.abs(rating[n] - np.clip(predictions[n], low, high)) / 4.0
            log_weights += log_beta * loss
            log_weights -= log_weights.max()


def passive_aggressive_predict(experts, first_column, user_rows, item_rows, predictions):
    for n, (user_row, item_row) in enumerate(zip(user_rows, item_rows, strict=True)):
        for s, expert in enumerate(experts):
            u = _factors(expert, user_row[first_column:])
            predictions[n, s] = u @ _factors(expert, item_row[first_column:])


def full_matrix(
    experts,
    first_column,
    users,
    items,
    user_ix,
    item_ix,
    rating,
    updates,
    squares,
    work,
    predictions,
):
    for n in range(user_ix.size):
        rows = users[user_ix[n], first_column:], items[item_ix[n], first_column:]
        for s, expert in enumerate(experts):
            predictions[n, s] = _factors(expert, rows[0]) @ _factors(expert, rows[1])
            updates[s] += _update(expert, rating[n] - predictions[n, s], *rows)


def _factors(expert, row):
    return row[expert["factors"] : expert["factors"] + expert["rank"]].astype(np.float64)


def _draw(sequence, key):
    bits = mix(mix(np.array([sequence], dtype=np.uint64)) ^ key)[0]
    return (int(bits) >> 11) * 2.0**-53


def _update(expert, error, user_row, item_row):
    """One step of both sides from the vectors at time t; return whether there was one."""
    loss = min(abs(error) - expert["eps"], expert["cap"])
    if loss <= 0.0:
        return False
    u, v = _factors(expert, user_row), _factors(expert, item_row)
    u_next = _step(expert, error, loss, u, v, user_row)
    v_next = _step(expert, error, loss, v, u, item_row)
    columns = slice(expert["factors"], expert["factors"] + expert["rank"])
    user_row[columns], item_row[columns] = u_next, v_next
    return True


def _step(expert, error, loss, u, x, row):
    """Return the new vector of one side, x being the other's; H in ``row`` learns x x' first."""
    metric = _learned_metric(expert, x, row)
    direction = np.linalg.solve(metric, x)
    moved = u + np.sign(error) * _tau(expert, loss, x @ direction) * direction
    if not expert["exact"]:
        return np.maximum(moved, 0.0)
    if expert["metric"] == FULL:
        return nearest_non_negative(moved, metric)
    if error > 0.0:
        return moved
    return exact_step(expert, loss, u, x, direction)


def _learned_metric(expert, x, row):
    rank, delta = expert["rank"], expert["delta"]
    if expert["metric"] == DIAGONAL:
        h = row[expert["accumulators"] : expert["accumulators"] + rank]
        h += x.astype(np.float32) ** 2
        return np.diag(np.sqrt(delta + h.astype(np.float64)))
    if expert["metric"] == FULL:
        upper = np.triu_indices(rank)
        packed = row[expert["accumulators"] : expert["accumulators"] + upper[0].size]
        packed += np.outer(x, x)[upper].astype(np.float32)
        h = np.zeros((rank, rank))
        h[upper] = packed
        return square_root(delta * np.eye(rank) + h + np.triu(h, 1).T)
    return np.eye(rank)


def square_root(matrix):
    """Return the symmetric square root."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T


def _tau(expert, loss, q):
    c, rule = expert["c"], expert["rule"]
    if rule == SGD:
        return c * loss
    if rule == PA:
        return loss / max(q, 1e-12)
    if rule == PA1:
        return min(c, loss / max(q, 1e-12))
    return loss / (q + 1.0 / (2.0 * c))


def exact_step(expert, loss, u, x, direction):
    """Return max(u - theta G^-1 x, 0) whose prediction is the target; theta walks breakpoints."""
    slack = 0.0 if expert["rule"] in {PA, PA1} else 1.0 / (2.0 * expert["c"])
    target = u @ x - loss

    def gap(theta):
        return np.maximum(u - theta * direction, 0.0) @ x - target - slack * theta

    ends = np.full(u.size, np.inf)
    np.divide(u, direction, out=ends, where=direction > 0.0)
    left = 0.0
    for right in [*np.unique(ends[ends > 0.0]), np.inf]:
        if np.isinf(right) or gap(right) <= 0.0:
            alive = ends > left
            slope = direction[alive] @ x[alive] + slack
            theta = left + (gap(left) / slope if slope > 1e-12 else 0.0)
            break
        left = right
    if expert["rule"] == PA1:
        theta = min(theta, expert["c"])
    return np.maximum(u - theta * direction, 0.0)


def nearest_non_negative(point, metric):
    """Return the nearest z >= 0 in the metric; every set of positive coordinates is tried."""
    best, best_distance = None, np.inf
    for free in product([False, True], repeat=point.size):
        free = np.array(free)
        z = np.zeros(point.size)
        if free.any():
            z[free] = np.linalg.solve(metric[np.ix_(free, free)], (metric @ point)[free])
        distance = (z - point) @ metric @ (z - point)
        if z.min() >= 0.0 and distance < best_distance:
            best, best_distance = z, distance
    return best
