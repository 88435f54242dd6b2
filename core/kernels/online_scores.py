"""Scores of many items for one user by all online experts and the aggregator, serially.

*Same as* the predict kernels of the experts and the aggregator's output, for rows of parameters
without accumulators. The caller precomputes everything that depends on the user or an item alone.
"""

import numpy as np

from core.kernels.jit import kernel
from core.types import F32, F64, I64


@kernel
def online_scores(
    user: F32,
    items: F32,
    mean: float,
    bias: I64,
    first: I64,
    rank: I64,
    low: float,
    high: float,
    parts: F64,
    slope: float,
    curvature: float,
    user_part: float,
    item_part: F32,
    out: F32,
) -> None:
    """Write the predicted ratings of n items by one user, not clipped.

    Equation   score = sum_e a_e p_e + c z + d z^2 + user part + item part, z = mean_e p_e - 3,
               p_e = clip(mu + b_u + b_i + u.v, low, high), without mu + b_u + b_i if e has no bias
    Symbols    user (width,), items (n, width) f32 · bias (m,): column or -1 · first, rank (m,): the
               factors' columns · parts a (m,) f64 · slope c, curvature d · item_part (n,) f32 ·
               out (n,) f32
    Cost       O(n sum(rank)); allocates nothing
    Reference  tests/core/reference_online_scores.py::online_scores
    """
    n_experts = first.size
    for t in range(items.shape[0]):
        row = np.uint64(t)
        score = user_part + item_part[t]
        total = 0.0
        for e in range(n_experts):
            at = np.uint64(first[e])
            dot = np.float32(0.0)
            for d in range(np.uint64(rank[e])):
                dot += user[at + d] * items[row, at + d]
            p = float(dot)
            if bias[e] >= 0:
                p = mean + user[bias[e]] + items[row, bias[e]] + dot
            p = min(max(p, low), high)
            total += p
            score += parts[e] * p
        z = total / n_experts - 3.0
        out[t] = score + z * (slope + z * curvature)
