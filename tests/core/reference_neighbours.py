"""Naive twins of the kernels and of the models of neighbours: dense, in float64."""

import numpy as np


def strongest(strengths, neighbour, strength):
    """Twin of core.kernels.neighbours.strongest."""
    neighbour[:], strength[:] = 0, 0.0
    for at, row in enumerate(strengths):
        order = sorted(np.flatnonzero(row).tolist(), key=lambda y: (-abs(row[y]), y))
        for k, y in enumerate(sorted(order[: neighbour.shape[1]])):
            neighbour[at, k], strength[at, k] = y, row[y]


def add_rows(item_ix, amount, neighbour, strength, scores):
    """Twin of core.kernels.neighbours.add_rows."""
    for row, times in zip(item_ix, amount, strict=True):
        for y, s in zip(neighbour[row], strength[row], strict=True):
            scores[y] += times * s


def matrix(pairs):
    """Return R (users, items) of the weights of likes."""
    found = np.zeros((pairs.n_users, pairs.n_items))
    liked = np.ones(len(pairs)) if pairs.target is None else (pairs.target > 0)
    weight = np.ones(len(pairs)) if pairs.weight is None else pairs.weight
    found[pairs.user_ix, pairs.item_ix] = weight * liked
    return found


def power(sums, exponent):
    """Return sums^exponent, 0 where a sum is 0."""
    return np.where(sums > 0, np.where(sums > 0, sums, 1.0) ** exponent, 0.0)


def graph(pairs, config):
    """Return N'N + share s^2 D^-b V (S / s)^fade V' D^b (items, items)."""
    r = matrix(pairs)
    users, items = power(r.sum(1), -config.user_exponent), power(r.sum(0), -config.item_exponent)
    n = users[:, None] * r * items
    _, s, v = np.linalg.svd(n, full_matrices=False)
    v, passed = v[: config.factors], (s / s[0])[: config.factors, None] ** config.fade
    back = power(r.sum(0), config.item_exponent)
    return n.T @ n + config.share * s[0] ** 2 * items[:, None] * (v.T @ (passed * v)) * back


def exact(pairs, config):
    """Return EASE column by column: each item regressed on the others; known items alone.

    The diagonal is left at 0.
    """
    r = matrix(pairs)
    users, items = power(r.sum(1), -config.user_exponent), power(r.sum(0), -config.item_exponent)
    n = users[:, None] * r * items
    reg = config.reg * (n**2).sum(0)[r.any(0)].mean()
    found = np.zeros((pairs.n_items, pairs.n_items))
    for y in np.flatnonzero(r.any(0)):
        others = np.delete(np.arange(pairs.n_items), y)
        x = n[:, others]
        b = np.linalg.solve(x.T @ x + reg * np.eye(others.size), x.T @ n[:, y])
        found[others, y] = items[others] * b / items[y]
    return found
