"""Compiled rivals of NN-APA; tests/bench/paper_twins.py has a plain numpy twin of each."""

import numpy as np

from core.kernels.jit import kernel
from core.types import F64, I64


@kernel
def multi_task(
    own: F64,
    shared: F64,
    items: F64,
    user_ix: I64,
    item_ix: I64,
    rating: F64,
    rate: float,
    coupling: float,
    predictions: F64,
) -> None:
    """Predict, then learn, each rating in order, with users as coupled tasks (OMTCF).

    A user's vector is its own part plus one that all users share. A step of one user moves every
    user: with a fixed interaction matrix whose inverse has (b + m) / ((1 + b) m) on its diagonal
    and b / ((1 + b) m) elsewhere, for m users and the coupling b.

    Equation   u = max(own + shared, 0), e = r - u.v
               own += rate e v / (1 + b) · shared += rate e v b / ((1 + b) m) · v += rate e u
    Arrays     own (m, k) f64 · shared (k,) f64 · items (n, k) f64 · predictions (ratings,) f64
    Differs    built from the description: the original text was not at hand. Vectors are kept
               non-negative, as the paper's SGD is.
    """
    m = own.shape[0]
    alone = rate / (1.0 + coupling)
    together = rate * coupling / ((1.0 + coupling) * m)
    for n in range(user_ix.shape[0]):
        mine = own[user_ix[n]]
        v = items[item_ix[n]]
        guess = 0.0
        for j in range(v.shape[0]):
            guess += max(mine[j] + shared[j], 0.0) * v[j]
        predictions[n] = guess
        error = rating[n] - guess
        for j in range(v.shape[0]):
            u = max(mine[j] + shared[j], 0.0)
            mine[j] = u - shared[j] + alone * error * v[j]
            shared[j] += together * error * v[j]
            v[j] = max(v[j] + rate * error * u, 0.0)


@kernel
def unconstrained(
    users: F64,
    items: F64,
    user_squares: F64,
    item_squares: F64,
    user_ix: I64,
    item_ix: I64,
    rating: F64,
    c: float,
    delta: float,
    predictions: F64,
) -> None:
    """Predict, then learn, each rating in order: APA-II with a diagonal metric, any sign.

    It is NN-APA without the projection on u >= 0, with eps = 0.

    Equation   u' = u + tau e G^-1 v, tau = 1 / (v' G^-1 v + 1 / (2C)), G = (delta + H)^1/2 per
               coordinate, H = sum of v^2 so far; the same for v, both from the vectors at time t
    Arrays     users (m, k), items (n, k) and the sums of squares f64 · predictions (ratings,) f64
    """
    for n in range(user_ix.shape[0]):
        u = users[user_ix[n]]
        v = items[item_ix[n]]
        user_h = user_squares[user_ix[n]]
        item_h = item_squares[item_ix[n]]
        guess = 0.0
        for j in range(u.shape[0]):
            guess += u[j] * v[j]
        predictions[n] = guess
        error = rating[n] - guess
        if error == 0.0:
            continue
        user_q = 0.0
        item_q = 0.0
        for j in range(u.shape[0]):
            user_h[j] += v[j] * v[j]
            item_h[j] += u[j] * u[j]
            user_q += v[j] * v[j] / np.sqrt(delta + user_h[j])
            item_q += u[j] * u[j] / np.sqrt(delta + item_h[j])
        user_tau = error / (user_q + 0.5 / c)
        item_tau = error / (item_q + 0.5 / c)
        for j in range(u.shape[0]):
            before = u[j]
            u[j] += user_tau * v[j] / np.sqrt(delta + user_h[j])
            v[j] += item_tau * before / np.sqrt(delta + item_h[j])


@kernel
def sampled_losses(
    users: F64,
    items: F64,
    user_squares: F64,
    item_squares: F64,
    first: I64,
    c: F64,
    delta: float,
    user_ix: I64,
    item_ix: I64,
    rating: F64,
    draws: F64,
    log_beta: float,
    rho: float,
    log_weights: F64,
    predictions: F64,
) -> None:
    """Learn with the experts of NN-APA(m) exactly as Algorithm 2 is printed.

    An expert's weight falls by the losses of those ratings alone for which it was drawn. Expert s
    has the columns ``first[s]`` to ``first[s + 1]`` and the aggressiveness ``c[s]``; eps = 0.

    Arrays     users (m, all k) and the others as in ``unconstrained``, clipped at 0 ·
               draws (ratings, experts) uniform in 0..1 · predictions (ratings,) of the mixture
    """
    experts = c.shape[0]
    guesses = np.empty(experts)
    for n in range(user_ix.shape[0]):
        u = users[user_ix[n]]
        v = items[item_ix[n]]
        user_h = user_squares[user_ix[n]]
        item_h = item_squares[item_ix[n]]
        top = -np.inf
        for s in range(experts):
            guesses[s] = 0.0
            for j in range(first[s], first[s + 1]):
                guesses[s] += u[j] * v[j]
            top = max(top, log_weights[s])
        total = 0.0
        mixed = 0.0
        for s in range(experts):
            weight = np.exp(log_weights[s] - top)
            total += weight
            mixed += weight * guesses[s]
        predictions[n] = mixed / total
        for s in range(experts):
            error = rating[n] - guesses[s]
            chance = (1.0 - rho) * np.exp(log_weights[s] - top) + rho
            if draws[n, s] >= chance or error == 0.0:
                continue
            user_q = 0.0
            item_q = 0.0
            for j in range(first[s], first[s + 1]):
                user_h[j] += v[j] * v[j]
                item_h[j] += u[j] * u[j]
                user_q += v[j] * v[j] / np.sqrt(delta + user_h[j])
                item_q += u[j] * u[j] / np.sqrt(delta + item_h[j])
            user_tau = error / (user_q + 0.5 / c[s])
            item_tau = error / (item_q + 0.5 / c[s])
            for j in range(first[s], first[s + 1]):
                before = u[j]
                u[j] = max(u[j] + user_tau * v[j] / np.sqrt(delta + user_h[j]), 0.0)
                v[j] = max(v[j] + item_tau * before / np.sqrt(delta + item_h[j]), 0.0)
            log_weights[s] += log_beta * abs(error)
