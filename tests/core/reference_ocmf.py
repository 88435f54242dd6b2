"""Naive twins of core/kernels/ocmf.py, and the one-class objective over all pairs."""

import numpy as np


def dense(pairs):
    """Return the pairs as an (m, n) boolean matrix."""
    labelled = np.zeros((pairs.n_users, pairs.n_items), bool)
    labelled[pairs.user_ix, pairs.item_ix] = True
    return labelled


def pair_scores(start, partner, rows, partners):
    """Return b_i.h_j of each pair."""
    return np.array(
        [rows[i] @ partners[j] for i in range(len(rows)) for j in partner[start[i] : start[i + 1]]]
    )


def weighted_sums(start, partner, weight, partners):
    """Return sum_j D_ij h_j of each row."""
    out = np.zeros((len(start) - 1, partners.shape[1]))
    for i in range(len(out)):
        for e in range(start[i], start[i + 1]):
            out[i] += weight[e] * partners[partner[e]]
    return out


def curved_sums(start, partner, curvature, rows, partners):
    """Return sum_j c_ij (n_i.h_j) h_j of each row."""
    out = np.zeros_like(rows)
    for i in range(len(out)):
        for e in range(start[i], start[i + 1]):
            h = partners[partner[e]]
            out[i] += curvature[e] * (rows[i] @ h) * h
    return out


def square(score):
    return (1.0 - score) ** 2


def logistic(score):
    return np.log1p(np.exp(-score))


def squared_hinge(score):
    return np.maximum(1.0 - score, 0.0) ** 2


def objective(W, H, X, L, labelled, p, q, target, loss, reg, graph):
    """Return f(W), every pair (i, j) visited [OCMF, eq. 2 with the weights of eq. 3]."""
    B = X @ W
    total = reg * ((W**2).sum() + graph * np.trace(B.T @ L @ B))
    for i in range(len(B)):
        for j in range(len(H)):
            score = B[i] @ H[j]
            total += loss(score) if labelled[i, j] else p[i] * q[j] * (target - score) ** 2
    return total


def slope(function, place, h=1e-5):
    """Return the gradient by central differences."""
    out = np.zeros_like(place)
    for at in np.ndindex(*place.shape):
        shift = np.zeros_like(place)
        shift[at] = h
        out[at] = (function(place + shift) - function(place - shift)) / (2.0 * h)
    return out


def als_row(i, H, labelled, p, q, target, reg):
    """Return the row of W that solves the squared loss without features and graph exactly."""
    M = H.T @ (q[:, None] * H)
    mine = np.flatnonzero(labelled[i])
    extra = 1.0 - p[i] * q[mine]
    left = p[i] * M + (H[mine].T * extra) @ H[mine] + reg * np.eye(H.shape[1])
    right = H[mine].T @ (1.0 - p[i] * q[mine] * target) + target * p[i] * (H.T @ q)
    return np.linalg.solve(left, right)


def newton_rows(H, labelled, listed, weight, p, q, target, loss, reg, start):
    """Return the rows that minimise their own objectives: Newton's method with the full Hessian.

    ``labelled`` and ``listed`` are (m, n) booleans; a listed pair without label costs (a - b)^2.
    """
    rows = start.copy()
    for i in range(len(rows)):
        cost = p[i] * q
        for _ in range(50):
            score = H @ rows[i]
            first, second = 2.0 * cost * (score - target), 2.0 * cost
            slope, bend = derivatives(loss, score)
            negative = listed[i] & ~labelled[i]
            first = np.where(labelled[i], weight[i] * slope, first)
            second = np.where(labelled[i], weight[i] * bend, second)
            first = np.where(negative, 2.0 * weight[i] * (score - target), first)
            second = np.where(negative, 2.0 * weight[i], second)
            gradient = H.T @ first + 2.0 * reg[i] * rows[i]
            hessian = (H.T * second) @ H + 2.0 * reg[i] * np.eye(H.shape[1])
            rows[i] -= np.linalg.solve(hessian, gradient)
    return rows


def derivatives(loss, score):
    """Return slope and curvature of ``square`` or ``logistic``."""
    if loss is square:
        return 2.0 * (score - 1.0), np.full_like(score, 2.0)
    yes = 1.0 / (1.0 + np.exp(-score))
    return yes - 1.0, yes * (1.0 - yes)
