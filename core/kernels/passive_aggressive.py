"""SGD, NN-PA and NN-APA with a diagonal metric: learns a batch of ratings with a table of experts.

Owns the arithmetic of non-negative factors without biases and the sampled updates of NN-APA(m). The
callers are the groups in core/online/nn_apa.py; full matrices have their own kernel.
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
"""One row of the table: columns relative to the group's first, settings, and key of the draws."""

Expert = np.void
Experts = NDArray[np.void]

# Lower bound on squared norms, which keeps the hard step finite when the partner vanishes.
TINY = 1e-12


@helper
def _mix(value: np.uint64) -> np.uint64:
    """Same as core.rng.mix, for one value."""
    z = value + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@helper
def _dot(user: F32, item: F32, first: int, rank: int) -> float:
    total = np.float32(0.0)
    f = np.uint64(first)
    for j in range(np.uint64(rank)):
        total += user[f + j] * item[f + j]
    return float(total)


# Rows with offsets, and both sides in one loop: slices of ten floats cost more than their
# arithmetic. Unsigned offsets spare numba the test whether an index counts from the end, so that
# the loops are vectorised.


@helper
def _directions(
    user: F32, item: F32, f: np.uint64, h: np.uint64, expert: Expert, scratch: F32
) -> tuple[float, float]:
    """Accumulate both sides' gradients; write both G^-1 x, return both x' G^-1 x."""
    rank = np.uint64(expert["rank"])
    delta = np.float32(expert["delta"])
    if expert["metric"] == DIAGONAL:
        for j in range(rank):
            u = user[f + j]
            v = item[f + j]
            user_h = user[h + j] + v * v
            item_h = item[h + j] + u * u
            user[h + j] = user_h
            item[h + j] = item_h
            scratch[0, j] = v / np.sqrt(delta + user_h)
            scratch[1, j] = u / np.sqrt(delta + item_h)
    else:
        for j in range(rank):
            scratch[0, j] = item[f + j]
            scratch[1, j] = user[f + j]
    user_q = np.float32(0.0)
    item_q = np.float32(0.0)
    for j in range(rank):  # reads only: in a loop that also writes, the order of the sum may vary
        user_q += item[f + j] * scratch[0, j]
        item_q += user[f + j] * scratch[1, j]
    return float(user_q), float(item_q)


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
    """Return the root th of sum max(u - th d, 0) x - target - slack th.

    ``excess`` = u.x - target must be positive. The function is convex and falling, so Newton's
    method from 0 approaches the root from the left. It ends after at most k + 1 steps, because each
    step drops the coordinates that have reached 0.
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
def _exact_step_sizes(
    user: F32, item: F32, f: np.uint64, expert: Expert, loss: float, scratch: F32
) -> tuple[float, float]:
    """Return the exact step sizes of both sides, for a prediction that was too high."""
    rank = expert["rank"]
    slack = 0.5 / expert["c"] if expert["rule"] == PA2 else 0.0
    most = expert["c"] if expert["rule"] == PA1 else np.inf
    u = user[f : f + rank]
    v = item[f : f + rank]
    user_theta = _exact_step_size(u, v, scratch[0, :rank], loss, slack)
    item_theta = _exact_step_size(v, u, scratch[1, :rank], loss, slack)
    return min(most, user_theta), min(most, item_theta)


@helper
def _update(
    user: F32, item: F32, first: int, expert: Expert, error: float, loss: float, scratch: F32
) -> None:
    """Step on both sides, each from the vectors at time t."""
    f = np.uint64(first + expert["factors"])
    h = np.uint64(first + expert["accumulators"])
    user_q, item_q = _directions(user, item, f, h, expert, scratch)
    user_tau = _step_size(expert["rule"], expert["c"], loss, user_q)
    item_tau = _step_size(expert["rule"], expert["c"], loss, item_q)
    if error < 0.0:
        if expert["exact"]:
            user_tau, item_tau = _exact_step_sizes(user, item, f, expert, loss, scratch)
        user_tau = -user_tau
        item_tau = -item_tau
    user_step = np.float32(user_tau)
    item_step = np.float32(item_tau)
    zero = np.float32(0.0)
    for j in range(np.uint64(expert["rank"])):
        user[f + j] = max(user[f + j] + user_step * scratch[0, j], zero)
        item[f + j] = max(item[f + j] + item_step * scratch[1, j], zero)


@helper
def _drawn(counter: np.uint64, key: np.uint64, log_weight: float, rho: float) -> bool:
    """Draw from Bernoulli((1 - rho) w / max w + rho), as a pure function of event and expert."""
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
    """Predict, then learn, each rating of a batch in order, with all experts of the table.

    Equation   u' = max(u + tau sgn(r - p) G^-1 v, 0), G = (delta + H)^1/2 per coordinate, H = sum
               of v^2 so far; the same for v with u, both from the vectors at time t
                                                                        [NN-APA, Alg. 1, eq. 8-11]
               q = (1 - rho) w / max w + rho, w <- w beta^(|r - p| / 4)           [NN-APA, Alg. 2]
    Symbols    p = u.v · l = min(|r - p| - eps, cap), no update at l <= 0 · q = v'G^-1 v ·
               tau = l/q (PA) | min(C, l/q) (I) | l/(q + 1/(2C)) (II) | C l with G = I (SGD) ·
               log_weights of w with maximum 0 · low, high bounds of p in w's loss
    Arrays     rows (n, width) f32 · predictions (n, experts) f64 · scratch (2, largest rank) f32
    Cost       O(k) an expert; allocates nothing
    Differs    ``exact``: u' solves the problem with u >= 0 instead of being clipped afterwards.
               Every expert's loss counts for its weight, whether it learned or not: with the losses
               of the sampled experts alone, the weights never concentrate.
    Reference  tests/core/reference.py::passive_aggressive
    """
    for n in range(user_ix.shape[0]):
        user = users[user_ix[n]]
        item = items[item_ix[n]]
        counter = _mix(np.uint64(sequence[n]))
        for s in range(experts.shape[0]):
            first = first_column + experts[s]["factors"]
            predictions[n, s] = _dot(user, item, first, experts[s]["rank"])
        for s in range(experts.shape[0]):
            expert = experts[s]
            error = rating[n] - predictions[n, s]
            loss = min(abs(error) - expert["eps"], expert["cap"])
            if loss <= 0.0:
                continue
            if rho < 1.0 and not _drawn(counter, expert["key"], log_weights[s], rho):
                continue
            updates[s] += 1.0
            _update(user, item, first_column, expert, error, loss, scratch)
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
    """Write u.v of each pair of rows and each expert, including the experts of full_matrix.py.

    Equation   p = u.v                                                            [NN-APA, Alg. 1]
    Reference  tests/core/reference.py::passive_aggressive_predict
    """
    for n in range(user_rows.shape[0]):
        user = user_rows[n]
        item = item_rows[n]
        for s in range(experts.shape[0]):
            first = first_column + experts[s]["factors"]
            predictions[n, s] = _dot(user, item, first, experts[s]["rank"])
