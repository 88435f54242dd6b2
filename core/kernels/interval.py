"""Central 80 % intervals from the residuals of predictions made before learning.

Residuals are counted in decayed histograms, one per bucket of (events of the user, events of the
item).
"""

from core.kernels.jit import helper, kernel
from core.types import F64

USER_COUNT, ITEM_COUNT = 1, 2
"""Columns of the context that ``core.kernels.aggregate`` writes."""

BINS, WIDTH, REACH = 81, 0.1, 4.0
CLASSES = 4
BUCKETS = CLASSES * CLASSES
LOW, HIGH = 0.1, 0.9
GROWTH = 1.0003
"""Factor from one residual's weight to the next, in the same bucket.

Growing weights are equivalent to decaying all older residuals, but change one bin only. A bucket
forgets by its own events, since a rare bucket would otherwise hold too few.
"""
LIMIT = 1e9
PSEUDO = 40.0
PRIOR, PRIOR_BINS = 40.0, 18
"""Prior evidence in events, and the bins on either side of 0 over which it is spread (+-1.85)."""
REFRESH = 64
TINY = 1e-300


@helper
def _class(count: float) -> int:
    """Return 0 below 5 events, 1 below 20, 2 below 80, else 3."""
    return int(count >= 5.0) + int(count >= 20.0) + int(count >= 80.0)


@helper
def _bucket(known: F64, t: int) -> int:
    return CLASSES * _class(known[t, USER_COUNT]) + _class(known[t, ITEM_COUNT])


@helper
def _mix(histogram: F64, weight: F64, bucket: int, mixed: F64) -> float:
    """Write the bucket's histogram plus PSEUDO events spread as in all buckets; return the sum."""
    middle = BINS // 2
    for b in range(BINS):
        near = middle - PRIOR_BINS <= b <= middle + PRIOR_BINS
        mixed[b] = PRIOR / (2 * PRIOR_BINS + 1) if near else 0.0
    for k in range(BUCKETS):
        scale = 1.0 / weight[k]
        for b in range(BINS):
            mixed[b] += scale * histogram[k, b]
    everything = 0.0
    own = 0.0
    for b in range(BINS):
        everything += mixed[b]
        own += histogram[bucket, b]
    pseudo = PSEUDO / everything
    scale = 1.0 / weight[bucket]
    for b in range(BINS):
        mixed[b] = scale * histogram[bucket, b] + pseudo * mixed[b]
    return float(scale * own + PSEUDO)


@helper
def _quantile(mixed: F64, target: float) -> float:
    """Return the residual below which the histogram holds ``target``."""
    below = 0.0
    for b in range(BINS):
        if below + mixed[b] >= target:
            return float(WIDTH * (b - 0.5 + (target - below) / max(mixed[b], TINY)) - REACH)
        below += mixed[b]
    return REACH


@helper
def _scale_back(histogram: F64, weight: F64, bucket: int) -> None:
    """Rescale a bucket to units of its newest residual, before its numbers grow too large."""
    scale = 1.0 / weight[bucket]
    for b in range(BINS):
        histogram[bucket, b] *= scale
    weight[bucket] = 1.0


@kernel
def interval(
    center: F64,
    known: F64,
    rating: F64,
    histogram: F64,
    weight: F64,
    bounds: F64,
    mixed: F64,
    low: float,
    high: float,
    out: F64,
) -> None:
    """Write the interval around each prediction, then count its residual.

    Equation   out = center + quantiles .1 and .9 of (the bucket's histogram + 40 events distributed
               as in all buckets, which start with 40 uniform events)
    Symbols    known from ``core.kernels.aggregate.context`` · histogram (buckets, bins) ·
               weight (buckets,) of the next residual, grows by 1.0003 · bounds (buckets, 3): both
               quantiles, and residuals left until they are recomputed · mixed (bins,) scratch ·
               out (n, 2), clipped to low..high
    Cost       O(n), and O(buckets bins) every 64 residuals of a bucket
    Reference  tests/core/reference_default.py::interval
    """
    for t in range(rating.size):
        k = _bucket(known, t)
        out[t, 0] = min(max(center[t] + bounds[k, 0], low), high)
        out[t, 1] = min(max(center[t] + bounds[k, 1], low), high)
        residual = min(max(rating[t] - center[t], -REACH), REACH)
        histogram[k, int((residual + REACH) / WIDTH + 0.5)] += weight[k]
        weight[k] *= GROWTH
        bounds[k, 2] -= 1.0
        if bounds[k, 2] <= 0.0:
            mass = _mix(histogram, weight, k, mixed)
            # An interval must contain its prediction, however lopsided the first residuals are.
            bounds[k, 0] = min(_quantile(mixed, LOW * mass), 0.0)
            bounds[k, 1] = max(_quantile(mixed, HIGH * mass), 0.0)
            bounds[k, 2] = REFRESH
        if weight[k] > LIMIT:
            _scale_back(histogram, weight, k)


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
