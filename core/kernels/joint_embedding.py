"""Joint embedding and regression.

The map from features to label vectors ascends the skip-gram objective of the vectors' cosines.
"""

import numpy as np

from core.kernels.jit import helper, kernel
from core.types import F32, I32, I64

SHORTEST = 1e-9
"""Lower bound on the length of a vector, which keeps its cosine finite."""
FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8
"""Adam's decay rates of the mean and of the mean square, and its epsilon."""


@helper
def _drawn(seed: np.uint64, number: int, n: int) -> int:
    """Return a pseudo-random number in 0 .. n - 1 (splitmix64)."""
    z = seed + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((z ^ (z >> np.uint64(31))) % np.uint64(n))


@helper
def _sigmoid(x: float) -> float:
    return float(1.0 / (1.0 + np.exp(-x)))


@helper
def _dot(a: F32, b: F32) -> np.float32:
    total = np.float32(0.0)
    for d in range(a.size):
        total += a[d] * b[d]
    return total


@helper
def _add(scale: np.float32, row: F32, out: F32) -> None:
    for d in range(out.size):
        out[d] += scale * row[d]


@helper
def _vector(i: int, ptr: I64, ix: I32, value: F32, weights: F32, out: F32) -> None:
    """Write z = V' x_i."""
    out[:] = np.float32(0.0)
    for a in range(ptr[i], ptr[i + 1]):
        _add(value[a], weights[ix[a]], out)


@helper
def _slopes(
    vector: F32, other: F32, wanted: float, scale: float, weight: float, out: F32, out_other: F32
) -> None:
    """Compute the slopes of weight log s(+-scale cos) with respect to both vectors.

    The slope of ``vector`` is added to ``out``; that of ``other`` is written to ``out_other``.
    """
    b = 1.0 / max(np.sqrt(_dot(vector, vector)), SHORTEST)
    c = 1.0 / max(np.sqrt(_dot(other, other)), SHORTEST)
    cosine = _dot(vector, other) * b * c
    step = weight * scale * (wanted - _sigmoid(scale * float(cosine)))
    cross = np.float32(step * b * c)
    here, there = np.float32(step * cosine * b * b), np.float32(step * cosine * c * c)
    for d in range(vector.size):
        out[d] += cross * other[d] - here * vector[d]
        out_other[d] = cross * vector[d] - there * other[d]


@helper
def _spread(
    i: int,
    ptr: I64,
    ix: I32,
    value: F32,
    slope: F32,
    gradient: F32,
    touched: I32,
    held: I32,
    n: int,
) -> int:
    """Add slope x_i' to the gradient; return how many of its rows are touched."""
    for a in range(ptr[i], ptr[i + 1]):
        row = ix[a]
        if held[row] == 0:
            held[row] = 1
            touched[n] = row
            n += 1
        _add(value[a], slope, gradient[row])
    return n


@helper
def _adagrad(weights: F32, gradient: F32, squares: F32, rate: np.float32) -> None:
    for d in range(weights.size):
        squares[d] += gradient[d] * gradient[d]
        weights[d] += rate * gradient[d] / np.sqrt(squares[d])
        gradient[d] = np.float32(0.0)


@helper
def _adam(
    weights: F32, gradient: F32, means: F32, squares: F32, steps: int, rate: np.float32
) -> None:
    first, second = np.float32(FIRST), np.float32(SECOND)
    fair = np.float32(1.0 / (1.0 - FIRST**steps))
    fair_square = np.float32(1.0 / (1.0 - SECOND**steps))
    for d in range(weights.size):
        means[d] += (np.float32(1.0) - first) * (gradient[d] - means[d])
        squares[d] += (np.float32(1.0) - second) * (gradient[d] * gradient[d] - squares[d])
        size = np.sqrt(squares[d] * fair_square) + np.float32(SMALL)
        weights[d] += rate * means[d] * fair / size
        gradient[d] = np.float32(0.0)


@kernel
def joint_embedding(
    ptr: I64,
    ix: I32,
    value: F32,
    neighbours: I32,
    order: I64,
    negatives: int,
    negative_weight: float,
    scale: float,
    rate: float,
    adam: bool,
    seed: np.uint64,
    weights: F32,
    means: F32,
    squares: F32,
    steps: I64,
) -> None:
    """Run one epoch: every point takes one step up the slope of O_i.

    Equation   O_i = sum over neighbours j of log s(g K_ij)
                     + w/m k sum over m random j' of log s(-g K_ij'),
               K_ij = cos(V'x_i, V'x_j)                                       [ExMLDS, eq. 10]
               dK_ij = x_i (b c z_j - K b^2 z_i)' + x_j (b c z_i - K c^2 z_j)',
               b = 1 / |z_i|, c = 1 / |z_j|                                   [ExMLDS, eq. 12]
    Symbols    x_i in CSR (ptr, ix, value) · neighbours (n, k), -1 for none · weights V (d, g) ·
               scale g · negatives m · negative_weight w · squares (d, g) of Adagrad, or with
               means (d, g) and steps (d,) of Adam
    Differs    lazy: a step updates only the rows (and their means) of features that its points have
    Cost       O((k + m) nnz(x) g) a point; allocates a gradient (d, g) and k + m vectors
    Reference  tests/core/reference_labels.py::joint_embedding
    """
    n, k = neighbours.shape
    g = weights.shape[1]
    gradient = np.zeros(weights.shape, np.float32)
    touched, held = np.empty(weights.shape[0], np.int32), np.zeros(weights.shape[0], np.int32)
    others = np.empty((k + negatives, g), np.float32)
    numbers = np.empty(k + negatives, np.int64)
    vector, slope, other_slope = (
        np.empty(g, np.float32),
        np.empty(g, np.float32),
        np.empty(g, np.float32),
    )
    drawn = 0
    for visit in range(order.size):
        i = order[visit]
        positives = 0
        while positives < k and neighbours[i, positives] >= 0:
            numbers[positives] = neighbours[i, positives]
            positives += 1
        for a in range(negatives):
            numbers[positives + a] = _drawn(seed, drawn, n)
            drawn += 1
        if positives == 0:
            continue
        _vector(i, ptr, ix, value, weights, vector)
        for a in range(positives + negatives):
            _vector(numbers[a], ptr, ix, value, weights, others[a])
        slope[:] = np.float32(0.0)
        m = 0
        for a in range(positives + negatives):
            positive = a < positives
            weight = 1.0 if positive else negative_weight * positives / negatives
            wanted = 1.0 if positive else 0.0
            _slopes(vector, others[a], wanted, scale, weight, slope, other_slope)
            m = _spread(numbers[a], ptr, ix, value, other_slope, gradient, touched, held, m)
        m = _spread(i, ptr, ix, value, slope, gradient, touched, held, m)
        for t in range(m):
            row = touched[t]
            held[row] = 0
            if adam:
                steps[row] += 1
                _adam(
                    weights[row],
                    gradient[row],
                    means[row],
                    squares[row],
                    steps[row],
                    np.float32(rate),
                )
            else:
                _adagrad(weights[row], gradient[row], squares[row], np.float32(rate))
