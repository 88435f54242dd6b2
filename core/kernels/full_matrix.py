"""NN-APA with the full matrix: learns a batch of ratings with a table of experts.

Owns G^-1 x for the symmetric square root G = (delta I + H)^1/2, computed without an
eigendecomposition of H, and the projection onto the non-negative vectors in the metric G. The table
is that of passive_aggressive.py, whose ``passive_aggressive_predict`` predicts for these experts
too.
"""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import helper, kernel
from core.types import F32, F64, I64

PA, PA1 = 0, 1
"""Values of ``rule`` as in passive_aggressive.py; any other value means PA-II."""
TINY = 1e-12
STEP, MARGIN = 0.65, 3.0
"""Step and margin of the quadrature; its error is about 2 exp(-pi^2 / STEP) + exp(-5 MARGIN)."""
NODES = 64
"""Largest number of quadrature nodes; enough for a condition number of 1e30."""
PIVOTS = 1000
"""Largest number of pivots of a projection, which usually needs a handful."""

Expert = np.void
Experts = NDArray[np.void]


@helper
def _dot(x: F64, y: F64) -> float:
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * y[j]
    return total


@helper
def _accumulate(x: F32, packed: F32, delta: float, matrix: F64) -> None:
    """Add x x' to H, stored as its packed upper triangle; write delta I + H into ``matrix``."""
    at = 0
    for i in range(x.shape[0]):
        for j in range(i, x.shape[0]):
            packed[at] += x[i] * x[j]
            matrix[i, j] = packed[at]
            matrix[j, i] = packed[at]
            at += 1
        matrix[i, i] += delta


@helper
def _lanczos(matrix: F64, basis: F64, diagonal: F64, off: F64) -> int:
    """Extend an orthonormal ``basis`` from its first row until it is invariant; return its size m.

    basis A basis' is tridiagonal: ``diagonal``, and ``off[j]`` between rows j and j + 1
    (``off[m - 1]`` = 0).
    """
    rank = matrix.shape[0]
    # The first row of A v does not bound A; its trace bounds every eigenvalue.
    negligible = 0.0
    for i in range(rank):
        negligible += matrix[i, i]
    negligible *= 1e-12
    for m in range(rank):
        v = basis[m]
        if m + 1 == rank:
            total = 0.0
            for i in range(rank):
                total += v[i] * _dot(matrix[i], v)
            diagonal[m] = total
            break
        w = basis[m + 1]
        for i in range(rank):
            w[i] = _dot(matrix[i], v)
        diagonal[m] = _dot(w, v)
        # The second pass removes the rounding errors of the first; a third is not needed.
        for _ in range(2):
            for b in range(m + 1):
                overlap = _dot(w, basis[b])
                for i in range(rank):
                    w[i] -= overlap * basis[b, i]
        norm = np.sqrt(_dot(w, w))
        off[m] = norm
        if norm <= negligible:
            off[m] = 0.0
            return m + 1
        for i in range(rank):
            w[i] /= norm
    off[rank - 1] = 0.0
    return int(rank)


@helper
def _quadrature(delta: float, largest: float, node: F64, weight: F64) -> int:
    """Write nodes and weights of a quadrature of z^-1/2; return the number of terms.

    z^-1/2 ~ sum weight / (z + node) on [delta, largest], to 1e-6: the trapezoidal rule for 2/pi int
    e^s / (z + e^2s) ds. Each tail is a geometric series in z and is replaced by one term with the
    same first two coefficients.
    """
    reach = 0.5 * np.log(largest / delta) + 2.0 * MARGIN
    if not reach < STEP * NODES:  # above the limit, or NaN
        reach = STEP * NODES
    # a multiple of the vector width, including the two tails
    count = min(4 * int(np.ceil((reach / STEP + 3.0) / 4.0)), NODES)
    inner = count - 2
    ratio = np.exp(STEP)
    root = np.sqrt(delta) * np.exp(-MARGIN)
    for j in range(inner):
        node[j] = root * root
        weight[j] = 2.0 / np.pi * STEP * root
        root *= ratio
    first = 1.0 / (ratio - 1.0)
    second = 1.0 / (ratio**3 - 1.0)
    node[inner] = node[0] * second / first
    weight[inner] = weight[0] * first
    node[inner + 1] = node[inner - 1] * first / second
    weight[inner + 1] = weight[inner - 1] * first * first / second
    return count


@helper
def _inverse_root_column(
    size: int, diagonal: F64, off: F64, node: F64, weight: F64, pivots: F64, out: F64
) -> None:
    """Write T^-1/2 e1 into ``out``, as a sum of solutions of (T + node I) y = weight e1.

    The elimination runs from the last row to the first, for all nodes side by side.
    """
    count = node.shape[0]
    for t in range(count):
        pivots[size - 1, t] = 1.0 / (diagonal[size - 1] + node[t])
    for i in range(size - 2, -1, -1):
        square = off[i] * off[i]
        for t in range(count):
            pivots[i, t] = 1.0 / (diagonal[i] + node[t] - square * pivots[i + 1, t])
    factor = 1.0
    for i in range(size):
        total = 0.0
        for t in range(count):
            weight[t] *= pivots[i, t]
            total += weight[t]
        out[i] = factor * total
        factor *= -off[i]


@helper
def _direction(matrix: F64, x: F32, delta: float, basis: F64, work: F64, out: F64) -> float:
    """Write matrix^-1/2 x into ``out``; return q = x' matrix^-1/2 x."""
    rank = x.shape[0]
    norm = 0.0
    trace = 0.0
    for i in range(rank):
        norm += np.float64(x[i]) * np.float64(x[i])
        trace += matrix[i, i]
        out[i] = 0.0
    norm = np.sqrt(norm)
    if norm <= TINY:
        return 0.0
    for i in range(rank):
        basis[0, i] = x[i] / norm
    diagonal, off, coefficient = work[0], work[1], work[2]
    size = _lanczos(matrix, basis, diagonal, off)
    count = _quadrature(delta, trace, work[3], work[4])
    node, weight = work[3, :count], work[4, :count]
    _inverse_root_column(size, diagonal, off, node, weight, work[5:], coefficient)
    for j in range(size):
        part = norm * coefficient[j]
        for i in range(rank):
            out[i] += part * basis[j, i]
    return float(norm * norm * coefficient[0])


@helper
def _step_size(rule: int, c: float, loss: float, q: float) -> float:
    if rule == PA:
        return loss / max(q, TINY)
    if rule == PA1:
        return min(c, loss / max(q, TINY))
    return loss / (q + 0.5 / c)


@helper
def _project(point: F64, matrix: F64) -> None:
    """Replace ``point`` by the nearest non-negative vector in the metric G = matrix^1/2.

    Uses Murty's principal pivoting on the conditions z >= 0, y = G z - G point >= 0, z y = 0: the
    last violated coordinate changes sides until none is violated. It terminates because G is
    positive definite. The case is rare (only after a step below zero), hence LAPACK and allocations
    are fine here.
    """
    rank = point.shape[0]
    eigenvalues, vectors = np.linalg.eigh(matrix)
    roots = np.sqrt(np.maximum(eigenvalues, 0.0))
    metric = (vectors * roots) @ np.ascontiguousarray(vectors.T)
    goal = metric @ point
    free = point > 0.0
    solution = np.zeros(rank)
    tolerance = 1e-12 * (1.0 + np.max(np.abs(goal)))
    for _ in range(PIVOTS):
        chosen = np.flatnonzero(free)
        solution[:] = 0.0
        if chosen.size > 0:
            system = np.empty((chosen.size, chosen.size))
            for i in range(chosen.size):
                for j in range(chosen.size):
                    system[i, j] = metric[chosen[i], chosen[j]]
            solution[chosen] = np.linalg.solve(system, goal[chosen])
        slope = metric @ solution - goal
        violated = -1
        for i in range(rank):
            if (solution[i] if free[i] else slope[i]) < -tolerance:
                violated = i
        if violated < 0:
            break
        free[violated] = not free[violated]
    for i in range(rank):
        point[i] = max(solution[i], 0.0)


@helper
def _step(
    expert: Expert, sign: float, loss: float, own: F32, x: F32, packed: F32, squares: F64, work: F64
) -> None:
    """Add the gradient x to ``packed``; write one side's new vector to ``squares[2, 0]``."""
    rank = x.shape[0]
    matrix, basis = squares[0], squares[1]
    moved, direction = squares[2, 0], squares[3, 0]
    _accumulate(x, packed, expert["delta"], matrix)
    q = _direction(matrix, x, expert["delta"], basis, work, direction)
    tau = sign * _step_size(expert["rule"], expert["c"], loss, q)
    below = False
    for j in range(rank):
        moved[j] = own[j] + tau * direction[j]
        below = below or moved[j] < 0.0
    if below and expert["exact"]:
        _project(moved, matrix)
    for j in range(rank):
        moved[j] = max(moved[j], 0.0)


@helper
def _update(
    expert: Expert, error: float, loss: float, u_row: F32, v_row: F32, squares: F64, work: F64
) -> None:
    """Step on both sides, each from the vectors at time t; the rows begin at the group's column."""
    rank, f, h = expert["rank"], expert["factors"], expert["accumulators"]
    size = rank * (rank + 1) // 2
    u = u_row[f : f + rank]
    v = v_row[f : f + rank]
    sign = 1.0 if error > 0.0 else -1.0
    u_next = squares[4, 0]
    _step(expert, sign, loss, u, v, u_row[h : h + size], squares, work)
    u_next[:] = squares[2, 0]
    _step(expert, sign, loss, v, u, v_row[h : h + size], squares, work)
    u[:] = u_next
    v[:] = squares[2, 0]


@kernel
def full_matrix(
    experts: Experts,
    first_column: int,
    users: F32,
    items: F32,
    user_ix: I64,
    item_ix: I64,
    rating: F64,
    updates: F64,
    squares: F64,
    work: F64,
    predictions: F64,
) -> None:
    """Predict, then learn, each rating of a batch in order, with all experts of the table.

    Equation   u' = P(u + tau sgn(r - p) G^-1 v), G = (delta I + H)^1/2, H = sum of v v' so far; the
               same for v with u, both from the vectors at time t       [NN-APA, Alg. 1, eq. 8-11]
    Symbols    p = u.v · l = min(|r - p| - eps, cap), no update at l <= 0 · q = v'G^-1 v ·
               tau = l/q (PA) | min(C, l/q) (I) | l/(q + 1/(2C)) (II) · P the larger of 0 and each
               coordinate, or with ``exact`` the nearest vector >= 0 in the metric G (eq. 9)
    Arrays     rows (n, width) f32 hold u and H's packed upper triangle · scratch f64:
               squares (5 k k,), work ((5 + k) NODES,) for the largest k, at most NODES
    Cost       O(k^3): Lanczos on H from v, then a rational function of the tridiagonal matrix
    Differs    G^-1 v is exact to about 2e-6, not to rounding
    Reference  tests/core/reference.py::full_matrix
    """
    for n in range(user_ix.shape[0]):
        u_row = users[user_ix[n], first_column:]
        v_row = items[item_ix[n], first_column:]
        for s in range(experts.shape[0]):
            expert = experts[s]
            f = expert["factors"]
            rank = expert["rank"]
            prediction = np.float32(0.0)
            for j in range(f, f + rank):
                prediction += u_row[j] * v_row[j]
            predictions[n, s] = prediction
            error = rating[n] - predictions[n, s]
            loss = min(abs(error) - expert["eps"], expert["cap"])
            if loss > 0.0:
                updates[s] += 1.0
                _update(
                    expert,
                    error,
                    loss,
                    u_row,
                    v_row,
                    squares[: 5 * rank * rank].reshape((5, rank, rank)),
                    work[: (5 + rank) * NODES].reshape((5 + rank, NODES)),
                )
