"""Skip-gram with negative sampling on points.

A point takes the role of a word; the neighbours with the most similar labels are its context.
"""

import numpy as np

from core.kernels.jit import helper, kernel
from core.types import F32, I32, I64


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
def _pull(word: F32, context: F32, wanted: float, weight: float, change: F32) -> None:
    """Update the context vector; add the update of the word vector to ``change``."""
    step = np.float32(weight * (wanted - _sigmoid(float(_dot(word, context)))))
    for d in range(word.size):
        change[d] += step * context[d]
    for d in range(word.size):
        context[d] += step * word[d]


@kernel
def skip_gram(
    vectors: F32,
    contexts: F32,
    neighbours: I32,
    order: I64,
    negatives: int,
    negative_weight: float,
    first_rate: float,
    last_rate: float,
    seed: np.uint64,
) -> None:
    """Run one epoch: each point ascends its part of the skip-gram objective.

    Equation   maximise log s(z_i.c_j) + w/m sum over m random j' of log s(-z_i.c_j'):
               z_i += rate (1 - s(z_i.c_j)) c_j, then m times
               z_i -= rate w/m s(z_i.c_j') c_j'; the c likewise                    [ExMLDS, eq. 4]
    Symbols    vectors z, contexts c (n, g) · neighbours (n, k), -1 for none · order (n,) ·
               negatives m · negative_weight w · rate falls linearly from first_rate to last_rate
    Differs    as in word2vec, a point has one vector as word and one as context; z_i moves once for
               a positive and its negatives together
    Cost       O(n k m g); allocates one vector
    Reference  tests/core/reference_labels.py::skip_gram
    """
    n = vectors.shape[0]
    change = np.empty(vectors.shape[1], np.float32)
    drawn = 0
    for visit in range(order.size):
        i = order[visit]
        rate = first_rate + (last_rate - first_rate) * visit / order.size
        for a in range(neighbours.shape[1]):
            if neighbours[i, a] < 0:
                break
            change[:] = np.float32(0.0)
            _pull(vectors[i], contexts[neighbours[i, a]], 1.0, rate, change)
            for _ in range(negatives):
                other = _drawn(seed, drawn, n)
                drawn += 1
                _pull(vectors[i], contexts[other], 0.0, rate * negative_weight / negatives, change)
            for d in range(change.size):
                vectors[i, d] += change[d]
