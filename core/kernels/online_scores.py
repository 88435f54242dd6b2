"""One user against many items with all online experts: what the aggregator needs to score them, serially.

*Same as* the predict kernels of the experts and ``aggregate.context_predict``, for rows of parameters without
accumulators and a single user.
"""

import numpy as np

from core.kernels.jit import kernel
from core.types import F32, F64, I64

# columns of a row (same as core.online.tables; kernels import nothing of ours that may change under the cache)
COUNT, RESIDUAL_SUM, RESIDUAL_WEIGHT = 2, 3, 4
RESIDUAL_PRIOR = 3.0


@kernel
def expert_scores(
    user: F32,
    items: F32,
    mean: float,
    bias: I64,
    first: I64,
    rank: I64,
    low: float,
    high: float,
    clipped: F64,
    known: F64,
) -> None:
    """Write each expert's prediction of n items for one user, and what is known of each pair.

    Equation   p = mu + b_u + b_i + u.v, without the first three where an expert has no bias; clip(p, low, high);
               known = mean_e p, both counts, both averages of residuals s / (m + 3)
    Symbols    user (width,), items (n, width) f32 · bias (m,): column or -1 · first, rank (m,): the factors' columns ·
               clipped (n, m), known (n, 5) f64 out
    Cost       O(n sum(rank)); allocates nothing
    Reference  tests/core/reference_online_scores.py::expert_scores
    """
    n_experts = first.size
    user_residual = user[RESIDUAL_SUM] / (user[RESIDUAL_WEIGHT] + RESIDUAL_PRIOR)
    for t in range(items.shape[0]):
        row = np.uint64(t)
        base = 0.0
        for e in range(n_experts):
            at = np.uint64(first[e])
            dot = np.float32(0.0)
            for d in range(np.uint64(rank[e])):
                dot += user[at + d] * items[row, at + d]
            p = float(dot)
            if bias[e] >= 0:
                p = mean + user[bias[e]] + items[row, bias[e]] + dot
            p = min(max(p, low), high)
            clipped[t, e] = p
            base += p
        known[t, 0] = base / n_experts
        known[t, 1] = user[COUNT]
        known[t, 2] = items[row, COUNT]
        known[t, 3] = user_residual
        known[t, 4] = items[row, RESIDUAL_SUM] / (items[row, RESIDUAL_WEIGHT] + RESIDUAL_PRIOR)
