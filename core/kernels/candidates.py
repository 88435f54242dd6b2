"""What a stack does for each slate: gather candidates, turn scores into signals, add signals up."""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel
from core.types import F32, F64, I32, I64

# same as core.stack.signals and core.stack.logit: a constant imported from our code could change
# without invalidating the cache
FLOOR = np.float32(0.01)
LARGEST = 40.0


@kernel
def gather(named: I32, latest: I32, excluded: I32, allowed: NDArray[np.bool_], item: I32) -> int:
    """Write the items that rankers name and the latest ones that may be shown; return how many.

    Equation   the distinct items of named and of {y in latest: allowed_y, y not in excluded}
    Symbols    named (a,), latest (b,) in any order · excluded (e,) rising · allowed (n,), items
               from n on are not allowed · item (a + b,): the candidates, rising
    Cost       O((a + b) log (a + b + e)); allocates nothing
    Reference  tests/core/reference_candidates.py::gather
    """
    n = named.size
    item[:n] = named
    for y in latest:
        if y < allowed.size and allowed[y]:
            at = np.searchsorted(excluded, y)
            if at == excluded.size or excluded[at] != y:
                item[n] = y
                n += 1
    item[:n].sort()
    found = 0
    for at in range(n):
        if found == 0 or item[at] != item[found - 1]:
            item[found] = item[at]
            found += 1
    return found


@kernel
def signals(score: F32, found: F32) -> None:
    """Write the signals of n scores.

    Equation   s · log(0.01 + max(s, 0) / max over the items of s) · [s <= 0]; s = 0 where the
               score is not finite
    Symbols    score (n,) · found (n, 3)
    Cost       O(n); allocates nothing
    Reference  tests/core/reference_candidates.py::signals
    """
    top = np.float32(0.0)
    for j in range(score.size):
        s = score[j] if np.isfinite(score[j]) else np.float32(0.0)
        found[j, 0] = s
        top = max(top, s)
    unit = top if top > 0.0 else np.float32(1.0)
    for j in range(score.size):
        s = found[j, 0]
        found[j, 1] = np.log(FLOOR + max(s, np.float32(0.0)) / unit)
        found[j, 2] = np.float32(1.0) if s <= 0.0 else np.float32(0.0)


@kernel
def add_up(
    signal: F32, mean: F32, inverse: F32, weight: F64, first: I64, z: F32, part: F32
) -> None:
    """Write the logit of each candidate, and the share of each ranker in it.

    Equation   x = clip((signal - mean) inverse, -40, 40);  z_j = sum_d w_d x_jd;
               part_jr = sum over d of ranker r of w_d x_jd, less its mean over the candidates
    Symbols    signal (m, d) · mean, inverse of the scale, weight w (d,) · first (r + 1,): columns
               of ranker r begin at first[r]; those from first[r] of the last on belong to none ·
               z (m,), part (m, r)
    Cost       O(m d); allocates nothing
    Reference  tests/core/reference_candidates.py::add_up
    """
    n_rankers = first.size - 1
    for j in range(signal.shape[0]):
        total = 0.0
        for r in range(n_rankers):
            own = 0.0
            for d in range(first[r], first[r + 1]):
                x = (signal[j, d] - mean[d]) * inverse[d]
                own += weight[d] * min(max(x, -LARGEST), LARGEST)
            part[j, r] = own
            total += own
        for d in range(first[n_rankers], signal.shape[1]):
            x = (signal[j, d] - mean[d]) * inverse[d]
            total += weight[d] * min(max(x, -LARGEST), LARGEST)
        z[j] = total
    for r in range(n_rankers):
        total = 0.0
        for j in range(signal.shape[0]):
            total += part[j, r]
        share = total / max(signal.shape[0], 1)
        for j in range(signal.shape[0]):
            part[j, r] -= share
