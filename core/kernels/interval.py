"""Central 80 % intervals from the residuals of predictions made before learning.

Residuals fall into decayed histograms, one for each bucket of (events of the user, events of the item) and one for all.
"""

from core.kernels.jit import helper, kernel
from core.types import F64

USER_COUNT, ITEM_COUNT = 1, 2
"""Columns of the context that ``core.kernels.aggregate`` writes."""

BINS, WIDTH, REACH = 81, 0.1, 4.0
CLASSES = 4
BUCKETS = CLASSES * CLASSES
LOW, HIGH = 0.1, 0.9
GROWTH, SHARED_GROWTH = 1.0003, 1.0001
"""Newer residuals weigh more: the same as decaying all others, but only one bin changes. A bucket forgets by its
own events: a rare one would otherwise hold too few."""
LIMIT = 1e9
PSEUDO = 40.0
REFRESH = 64


@helper
def _class(count: float) -> int:
    """Return 0 below 5 events, 1 below 20, 2 below 80, else 3."""
    return int(count >= 5.0) + int(count >= 20.0) + int(count >= 80.0)


@helper
def _bucket(known: F64, t: int) -> int:
    return CLASSES * _class(known[t, USER_COUNT]) + _class(known[t, ITEM_COUNT])


@helper
def _quantile(histogram: F64, bucket: int, prior: float, target: float) -> float:
    """Return where the bucket's histogram + prior times the shared one first holds ``target``."""
    below = 0.0
    for b in range(BINS):
        here = histogram[bucket, b] + prior * histogram[BUCKETS, b]
        if here > 0.0 and below + here >= target:
            return float(WIDTH * (b - 0.5 + (target - below) / here) - REACH)
        below += here
    return REACH


@helper
def _refresh(histogram: F64, weight: F64, bucket: int, bounds: F64) -> None:
    """Compute the bucket's two quantiles anew."""
    own = 0.0
    shared = 0.0
    for b in range(BINS):
        own += histogram[bucket, b]
        shared += histogram[BUCKETS, b]
    pseudo = PSEUDO * weight[bucket]
    mass = own + pseudo
    bounds[bucket, 0] = _quantile(histogram, bucket, pseudo / shared, LOW * mass)
    bounds[bucket, 1] = _quantile(histogram, bucket, pseudo / shared, HIGH * mass)


@helper
def _add(histogram: F64, weight: F64, row: int, b: int, growth: float) -> None:
    """Count one residual; weights that have grown large are scaled back, which changes nothing else."""
    histogram[row, b] += weight[row]
    weight[row] *= growth
    if weight[row] > LIMIT:
        scale = 1.0 / weight[row]
        for c in range(BINS):
            histogram[row, c] *= scale
        weight[row] = 1.0


@kernel
def interval(
    center: F64,
    known: F64,
    rating: F64,
    histogram: F64,
    weight: F64,
    bounds: F64,
    low: float,
    high: float,
    out: F64,
) -> None:
    """Write the interval around each prediction, then count its residual.

    Equation   out = center + quantiles .1 and .9 of (the bucket's histogram + 40 events of the shared one)
    Symbols    known from ``core.kernels.aggregate.context`` · histogram (buckets + 1, bins), the last is the shared one ·
               weight (buckets + 1,) of the next residual, grows by 1.0003, shared 1.0001 ·
               bounds (buckets, 3): both quantiles, and residuals to go until they are computed anew ·
               out (n, 2), clipped to low..high
    Cost       O(n), and O(bins) every 64 residuals of a bucket
    Reference  tests/core/reference_default.py::interval
    """
    for t in range(rating.size):
        bucket = _bucket(known, t)
        out[t, 0] = min(max(center[t] + bounds[bucket, 0], low), high)
        out[t, 1] = min(max(center[t] + bounds[bucket, 1], low), high)
        residual = min(max(rating[t] - center[t], -REACH), REACH)
        b = int((residual + REACH) / WIDTH + 0.5)
        _add(histogram, weight, bucket, b, GROWTH)
        _add(histogram, weight, BUCKETS, b, SHARED_GROWTH)
        bounds[bucket, 2] -= 1.0
        if bounds[bucket, 2] <= 0.0:
            bounds[bucket, 2] = REFRESH
            _refresh(histogram, weight, bucket, bounds)


@kernel
def interval_predict(
    center: F64, known: F64, bounds: F64, low: float, high: float, out: F64
) -> None:
    """Write the interval around n predictions; nothing else changes.

    Equation   out = center + the bucket's quantiles, clipped to low..high
    Symbols    as in ``interval``
    Reference  tests/core/reference_default.py::interval_predict
    """
    for t in range(center.size):
        bucket = _bucket(known, t)
        out[t, 0] = min(max(center[t] + bounds[bucket, 0], low), high)
        out[t, 1] = min(max(center[t] + bounds[bucket, 1], low), high)
