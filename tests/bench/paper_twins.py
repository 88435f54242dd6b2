"""Naive twins of the kernels of bench/papers, to be read beside the papers: plain numpy.

Same names and arguments as the kernels.
"""

import itertools

import numpy as np


def multi_task(own, shared, items, user_ix, item_ix, rating, rate, coupling, predictions):
    m = len(own)
    inverse = np.full((m, m), coupling / ((1.0 + coupling) * m))
    inverse[np.diag_indices(m)] += 1.0 / (1.0 + coupling)
    users = own + shared
    for n, (i, j) in enumerate(zip(user_ix, item_ix, strict=True)):
        u, v = np.maximum(users[i], 0.0), items[j].copy()
        predictions[n] = u @ v
        error = rating[n] - predictions[n]
        users[i] = u
        users += rate * error * np.outer(inverse[i], v)
        items[j] = np.maximum(v + rate * error * u, 0.0)
    # only the sums of the two parts matter
    own[:] = users
    shared[:] = 0.0


def unconstrained(
    users, items, user_squares, item_squares, user_ix, item_ix, rating, c, delta, predictions
):
    for n, (i, j) in enumerate(zip(user_ix, item_ix, strict=True)):
        u, v = users[i].copy(), items[j].copy()
        predictions[n] = u @ v
        error = rating[n] - predictions[n]
        users[i] += _step(error, v, user_squares[i], c, delta)
        items[j] += _step(error, u, item_squares[j], c, delta)


def sampled_losses(
    users,
    items,
    user_squares,
    item_squares,
    first,
    c,
    delta,
    user_ix,
    item_ix,
    rating,
    draws,
    log_beta,
    rho,
    log_weights,
    predictions,
):
    columns = [slice(a, b) for a, b in itertools.pairwise(first)]
    for n, (i, j) in enumerate(zip(user_ix, item_ix, strict=True)):
        weights = np.exp(log_weights - log_weights.max())
        guesses = np.array([users[i, own] @ items[j, own] for own in columns])
        predictions[n] = weights @ guesses / weights.sum()
        errors = rating[n] - guesses
        for s, own in enumerate(columns):
            if draws[n, s] < (1.0 - rho) * weights[s] + rho:
                u, v = users[i, own].copy(), items[j, own].copy()
                step = _step(errors[s], v, user_squares[i, own], c[s], delta)
                other = _step(errors[s], u, item_squares[j, own], c[s], delta)
                users[i, own] = np.maximum(u + step, 0.0)
                items[j, own] = np.maximum(v + other, 0.0)
                log_weights[s] += log_beta * abs(errors[s])


def _step(error, x, squares, c, delta):
    squares += x * x
    metric = np.diag(1.0 / np.sqrt(delta + squares))
    return error / (x @ metric @ x + 1.0 / (2.0 * c)) * metric @ x
