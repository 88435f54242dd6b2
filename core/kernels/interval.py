"""Central 80 % intervals from the residuals of predictions made before learning.

Residuals fall into decayed histograms, one for each bucket of (events of the user, events of the item) and one for all.
"""

from core.kernels.jit import helper, kernel
from core.types import F64

USER_COUNT, ITEM_COUNT = 1, 2
"""Columns of the context that ``core.kernels.aggregate`` writes."""

BINS, WIDTH, REACH = 161, 0.05, 4.0
CLASSES = 4
BUCKETS = CLASSES * CLASSES
LOW, HIGH = 0.1, 0.9
GROWTH = 1.0001
"""Newer residuals weigh more: the same as decaying all others, but only one bin changes."""
LIMIT = 1e9
PSEUDO = 40.0
REFRESH = 64


@helper
def _class(count: float) -> int:
    """Return 0 below 5 events, 1 below 20, 2 below 80, else 3."""
    return int(count >= 5.0) + int(count >= 20.0) + int(count >= 80.0)


@helper
def _quantile(histogram: F64, shared: F64, prior: float, total: float, q: float) -> float:
    """Return the q quantile of a histogram mixed with ``prior`` times the shared one."""
    target = q * total
    below = 0.0
    for b in range(BINS):
        here = histogram[b] + prior * shared[b]
        if below + here >= target:
            return float(-REACH + WIDTH * (b - 0.5 + (target - below) / here))
        below += here
    return REACH


@helper
def _refresh(histogram: F64, weight: float, bucket: int, bounds: F64) -> None:
    """Compute the bucket's two quantiles anew; all weights are in units of ``weight``."""
    shared = histogram[BUCKETS]
    mass = 0.0
    total = 0.0
    for b in range(BINS):
        mass += histogram[bucket, b]
        total += shared[b]
    prior = PSEUDO * weight / total
    mass += PSEUDO * weight
    bounds[bucket, 0] = _quantile(histogram[bucket], shared, prior, mass, LOW)
    bounds[bucket, 1] = _quantile(histogram[bucket], shared, prior, mass, HIGH)


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

    Equation   out = center + quantiles .1 and .9 of (bucket's histogram + 40 events of the shared one)
    Symbols    known as ``core.kernels.aggregate.context`` writes it · histogram (buckets + 1, bins): the last is the shared one
               weight (1,): of the next residual, grows by 1.0001 an event · bounds (buckets, 3): both quantiles and the
               residuals until they are computed anew · out (n, 2), clipped to low..high
    Cost       O(n) and O(bins) every 64 residuals of a bucket
    Reference  tests/core/reference_default.py::interval
    """
    for t in range(rating.size):
        bucket = CLASSES * _class(known[t, USER_COUNT]) + _class(known[t, ITEM_COUNT])
        out[t, 0] = min(max(center[t] + bounds[bucket, 0], low), high)
        out[t, 1] = min(max(center[t] + bounds[bucket, 1], low), high)
        residual = min(max(rating[t] - center[t], -REACH), REACH)
        b = int((residual + REACH) / WIDTH + 0.5)
        histogram[bucket, b] += weight[0]
        histogram[BUCKETS, b] += weight[0]
        bounds[bucket, 2] -= 1.0
        if bounds[bucket, 2] <= 0.0:
            _refresh(histogram, weight[0], bucket, bounds)
            bounds[bucket, 2] = REFRESH
        weight[0] *= GROWTH
        if weight[0] > LIMIT:
            histogram /= weight[0]
            weight[0] = 1.0


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
        bucket = CLASSES * _class(known[t, USER_COUNT]) + _class(known[t, ITEM_COUNT])
        out[t, 0] = min(max(center[t] + bounds[bucket, 0], low), high)
        out[t, 1] = min(max(center[t] + bounds[bucket, 1], low), high)
