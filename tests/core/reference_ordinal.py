"""Naive twins of core/ordinal: sums over all pairs, and a recursion that recomputes every block."""

import numpy as np

from core.ordinal.pairing import pairing
from core.ordinal.recursion import _draw


def risk(scores, group, levels, gamma):
    """Return the mean over the splits of g R_PN + (1 - g) (R_PU + R_NU - 1/2)."""

    def loss(up, down):
        return ((1.0 - up[:, None] + down[None, :]) ** 2).mean()

    unlabelled, total = scores[group == 0], 0.0
    for j in range(1, levels):
        above, below = scores[group > j], scores[(group > 0) & (group <= j)]
        both = loss(above, unlabelled) + loss(unlabelled, below) - 0.5
        total += gamma * loss(above, below) + (1.0 - gamma) * both
    return total / (levels - 1)


def mean_auc(scores, level):
    """Return the share of pairs in order, ties half, averaged over the splits."""
    found = []
    for j in range(level.min(), level.max()):
        apart = np.sign(scores[level > j][:, None] - scores[level <= j][None, :])
        found.append(0.5 * (1.0 + apart.mean()))
    return float(np.mean(found))


def descend(x, group, levels, features, by):
    """Return the coefficients; every step recomputes the score from all blocks."""
    pairs = pairing(np.bincount(group, minlength=levels + 1), by.gamma)
    coefficients = np.zeros((by.blocks or by.steps, 2 * features.block))
    for step, rows in enumerate(_draw(group, levels, by), start=1):
        q = (step - 1) % len(coefficients)
        scores = sum(features.of(p, x[rows]) @ one for p, one in enumerate(coefficients))
        slope = pairs.slopes(scores, group[rows]) @ features.of(q, x[rows])
        coefficients *= 1.0 - by.size(step) * by.reg
        coefficients[q] -= by.size(step) * slope
    return coefficients


def plain_descent(x, group, levels, features, by):
    """Return the weights (2 block,) of stochastic descent in one block's features."""
    pairs = pairing(np.bincount(group, minlength=levels + 1), by.gamma)
    phi, weights = features.of(0, x).astype(float), np.zeros(2 * features.block)
    for step, rows in enumerate(_draw(group, levels, by), start=1):
        slope = phi[rows].T @ pairs.slopes(phi[rows] @ weights, group[rows]) + by.reg * weights
        weights = weights - by.size(step) * slope
    return weights
