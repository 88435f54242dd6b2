"""SGD, NN-PA and NN-APA with a diagonal metric: a table of experts goes through a batch of ratings.

Owns the arithmetic of non-negative factors without biases and the sampled updates of NN-APA(m).
The groups that call it are in core/online/nn_apa.py; the full matrix has a kernel of its own.
"""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import helper, kernel
from core.types import F32, F64, I64

IDENTITY, DIAGONAL, FULL = 0, 1, 2
"""Values of ``metric``."""
PA, PA1, PA2, SGD = 0, 1, 2, 3
"""Values of ``rule``."""

EXPERT = np.dtype(
    [
        ("factors", np.int64),
        ("accumulators", np.int64),
        ("rank", np.int64),
        ("metric", np.int64),
        ("rule", np.int64),
        ("exact", np.int64),
        ("c", np.float64),
        ("eps", np.float64),
        ("delta", np.float64),
        ("cap", np.float64),
        ("key", np.uint64),
    ]
)
"""One row of the table: columns relative to the group's first, the recipe, the key of its draws."""

Expert = np.void
Experts = NDArray[np.void]

# Smaller squared norms count as this one, so that the hard step of a vanished partner stays finite.
TINY = 1e-12


@helper
def _mix(value: np.uint64) -> np.uint64:
    """Same as core.rng.mix, for one value."""
    z = value + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@helper
def _dot(x: F32, y: F32) -> np.float32:
    total = np.float32(0.0)
    for j in range(x.shape[0]):
        total += x[j] * y[j]
    return total


@helper
def _directions(x: F32, accumulator: F32, expert: Expert, out: F32) -> np.float64:
    """Write G^-1 x into ``out``, the gradient's square already in H; return q = x' G^-1 x."""
    delta = np.float32(expert["delta"])
    q = np.float32(0.0)
    if expert["metric"] == DIAGONAL:
        for j in range(x.shape[0]):
            h = accumulator[j] + x[j] * x[j]
            accumulator[j] = h
            out[j] = x[j] / np.sqrt(delta + h)
            q += x[j] * out[j]
    else:
        for j in range(x.shape[0]):
            out[j] = x[j]
            q += x[j] * x[j]
    return np.float64(q)


@helper
def _step_size(rule: int, c: float, loss: float, q: float) -> float:
    if rule == PA2:
        return loss / (q + 0.5 / c)
    if rule == PA1:
        return min(c, loss / max(q, TINY))
    if rule == PA:
        return loss / max(q, TINY)
    return c * loss


@helper
def _exact_step_size(u: F32, x: F32, direction: F32, excess: float, slack: float) -> float:
    """Root th of sum max(u - th d, 0) x - target - slack th, where excess = u.x - target > 0.

    The function is convex and falls, so Newton from 0 comes from the left and ends in at most k + 1 steps:
    each one drops the coordinates that have reached 0.
    """
    theta = 0.0
    for _ in range(u.shape[0] + 1):
        gap = excess - slack * theta
        slope = slack
        for j in range(u.shape[0]):
            moved = theta * direction[j]
            if moved < u[j]:
                slope += np.float64(direction[j] * x[j])
                gap -= np.float64(moved * x[j])
            else:
                gap -= np.float64(u[j] * x[j])
        if gap <= 0.0 or slope <= TINY:
            break
        theta += gap / slope
    return theta


@helper
def _move(u: F32, step: float, direction: F32) -> None:
    width = np.float32(step)
    for j in range(u.shape[0]):
        u[j] = max(u[j] + width * direction[j], np.float32(0.0))


@helper
def _update(
    expert: Expert, error: float, loss: float, u_row: F32, v_row: F32, scratch: F32
) -> None:
    """Both sides step from the vectors at time t; ``u_row``, ``v_row`` begin at the group's column."""
    rank = expert["rank"]
    f = expert["factors"]
    h = expert["accumulators"]
    u = u_row[f : f + rank]
    v = v_row[f : f + rank]
    u_direction = scratch[0, :rank]
    v_direction = scratch[1, :rank]
    u_q = _directions(v, u_row[h : h + rank], expert, u_direction)
    v_q = _directions(u, v_row[h : h + rank], expert, v_direction)
    u_tau = _step_size(expert["rule"], expert["c"], loss, u_q)
    v_tau = _step_size(expert["rule"], expert["c"], loss, v_q)
    if error < 0.0:
        if expert["exact"]:
            slack = 0.5 / expert["c"] if expert["rule"] == PA2 else 0.0
            most = expert["c"] if expert["rule"] == PA1 else np.inf
            u_tau = min(most, _exact_step_size(u, v, u_direction, loss, slack))
            v_tau = min(most, _exact_step_size(v, u, v_direction, loss, slack))
        u_tau = -u_tau
        v_tau = -v_tau
    _move(u, u_tau, u_direction)
    _move(v, v_tau, v_direction)


@helper
def _drawn(counter: np.uint64, key: np.uint64, log_weight: float, rho: float) -> bool:
    """Bernoulli((1 - rho) w / max w + rho), the same for the same event and expert."""
    bits = _mix(counter ^ key)
    draw = np.float64(bits >> np.uint64(11)) * 2.0**-53
    return bool(draw < rho or draw < rho + (1.0 - rho) * np.exp(log_weight))


@kernel
def passive_aggressive(
    experts: Experts,
    first_column: int,
    users: F32,
    items: F32,
    user_ix: I64,
    item_ix: I64,
    rating: F64,
    sequence: I64,
    rho: float,
    log_beta: float,
    low: float,
    high: float,
    log_weights: F64,
    updates: F64,
    scratch: F32,
    predictions: F64,
) -> None:
    """Predict, then learn each rating of a batch in its order, all experts of the table.

    Equation   u' = max(u + tau sgn(r - p) G^-1 v, 0), G = (delta + H)^1/2 per coordinate, H = sum of v^2 so
               far; the same for v with u, both from the vectors at time t          [NN-APA, Alg. 1, eq. 8-11]
               q = (1 - rho) w / max w + rho, w <- w beta^(|r - p| / 4)             [NN-APA, Alg. 2]
    Symbols    p = u.v · l = min(|r - p| - eps, cap), nothing happens at l <= 0 · q = v'G^-1 v ·
               tau = l/q (PA) | min(C, l/q) (I) | l/(q + 1/(2C)) (II) | C l with G = I (SGD) ·
               log_weights of w with maximum 0 · low, high bounds of p in w's loss
    Arrays     rows (n, width) f32 · predictions (n, experts) f64 · scratch (2, largest rank) f32
    Cost       O(k) an expert; allocates nothing
    Differs    ``exact``: u' solves the problem with u >= 0 instead of being clipped after it. Every expert's
               loss counts for its weight, learned or not: of the sampled ones alone weights never concentrate.
    Reference  tests/core/reference.py::passive_aggressive
    """
    for n in range(user_ix.shape[0]):
        u_row = users[user_ix[n], first_column:]
        v_row = items[item_ix[n], first_column:]
        counter = _mix(np.uint64(sequence[n]))
        for s in range(experts.shape[0]):
            f = experts[s]["factors"]
            k = experts[s]["rank"]
            predictions[n, s] = _dot(u_row[f : f + k], v_row[f : f + k])
        for s in range(experts.shape[0]):
            expert = experts[s]
            error = rating[n] - predictions[n, s]
            loss = min(abs(error) - expert["eps"], expert["cap"])
            if loss <= 0.0:
                continue
            if rho < 1.0 and not _drawn(counter, expert["key"], log_weights[s], rho):
                continue
            updates[s] += 1.0
            _update(expert, error, loss, u_row, v_row, scratch)
        if rho < 1.0:
            top = -np.inf
            for s in range(experts.shape[0]):
                guess = min(max(predictions[n, s], low), high)
                log_weights[s] += log_beta * 0.25 * abs(rating[n] - guess)
                top = max(top, log_weights[s])
            for s in range(experts.shape[0]):
                log_weights[s] -= top


@kernel
def passive_aggressive_predict(
    experts: Experts, first_column: int, user_rows: F32, item_rows: F32, predictions: F64
) -> None:
    """Write u.v of each pair of rows and each expert; also for the experts of full_matrix.py.

    Equation   p = u.v                                                              [NN-APA, Alg. 1]
    Reference  tests/core/reference.py::passive_aggressive_predict
    """
    for n in range(user_rows.shape[0]):
        u_row = user_rows[n, first_column:]
        v_row = item_rows[n, first_column:]
        for s in range(experts.shape[0]):
            f = experts[s]["factors"]
            k = experts[s]["rank"]
            predictions[n, s] = _dot(u_row[f : f + k], v_row[f : f + k])
