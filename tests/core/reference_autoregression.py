"""Naive twins of core/kernels/autoregression.py, and of the whole fit with dense matrices."""

import numpy as np


def windows(first, at, item, weight, ptr, ix, value):
    n = 0
    for row in range(len(at)):
        past = item[first[row] : at[row]][-120:][::-1].tolist()
        latest = list(dict.fromkeys(past))[: len(weight)]
        own = np.array(weight[: len(latest)], np.float64)
        own = own / np.sqrt((own**2).sum()) if latest else own
        ix[n : n + len(latest)], value[n : n + len(latest)] = latest, own
        n += len(latest)
        ptr[row + 1] = n


def add_products(ptr, ix, value, to_ptr, to_ix, to, gram, cross):
    for row in range(len(ptr) - 1):
        x, y = np.zeros(len(gram)), np.zeros(len(gram))
        for a in range(ptr[row], ptr[row + 1]):
            x[ix[a]] += value[a]
        for b in range(to_ptr[row], to_ptr[row + 1]):
            y[to_ix[b]] += to[b]
        gram += np.triu(np.outer(x, x))
        cross += np.outer(x, y)


def solve_on_support(ptr, ix, cross, gram_ptr, gram_ix, gram, reg, out):
    n = len(reg)
    whole = np.zeros((n, n))
    for row in range(n):
        for at in range(gram_ptr[row], gram_ptr[row + 1]):
            whole[row, gram_ix[at]] = gram[at]
    for target in range(len(ptr) - 1):
        own = slice(ptr[target], ptr[target + 1])
        s = ix[own]
        out[own] = np.linalg.solve(whole[np.ix_(s, s)] + np.diag(reg[s]), cross[own])


def fit(histories, n, *, items, fade, ahead, back, reg, nu, popularity, most_ahead=8):
    """Return B (n, n) from lists of (item, weight), oldest first, one row of X and Y at a time."""
    rows, targets = [], []
    for history in histories:
        for t in range(1, len(history)):
            x, y = np.zeros(n), np.zeros(n)
            latest = list(dict.fromkeys(item for item, _ in history[:t][::-1][:120]))
            for age, item in enumerate(latest[:items]):
                x[item] = (1 + age) ** -fade
            for distance, (item, weight) in enumerate(history[t : t + most_ahead], 1):
                y[item] += weight * distance**-ahead
            rows.append(x / np.linalg.norm(x))
            targets.append(y)
    x, y = np.array(rows), np.array(targets)
    gram, cross = x.T @ x, x.T @ y
    cross = cross + back * (cross.T - np.diag(np.diag(cross)))
    own = np.diag(gram)
    mean = own[own > 0].mean()
    penalty = reg * ((own + 1) / mean) ** nu
    taken = 1.0 + cross.sum(0)
    b = np.linalg.solve(gram + np.diag(penalty), cross)
    return b * (taken / taken.mean()) ** -popularity
