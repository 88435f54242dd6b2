"""Central 80 % intervals around predictions; the arithmetic is in ``core/kernels/interval.py``."""

import numpy as np

from core.kernels import interval as kernels
from core.types import F64


class Intervals:
    """Decayed histograms of the residuals, one per bucket, and their quantiles."""

    def __init__(self, low: float, high: float) -> None:
        self._low, self._high = low, high
        self._histogram = np.zeros((kernels.BUCKETS, kernels.BINS))
        self._weight = np.ones(kernels.BUCKETS)
        self._mixed = np.zeros(kernels.BINS)
        self._bounds = np.zeros((kernels.BUCKETS, 3))
        self._bounds[:, 0], self._bounds[:, 1] = -1.5, 1.5
        # One array per bucket: the commit of a single event then writes only one of them.
        self.state: dict[str, F64] = {
            f"histogram.{bucket}": row for bucket, row in enumerate(self._histogram)
        } | {"weight": self._weight, "bounds": self._bounds}

    def learn(self, center: F64, known: F64, rating: F64) -> F64:
        """Return the intervals (n, 2) made before each rating, then count its residual."""
        out = np.empty((center.size, 2))
        kernels.interval(
            center,
            known,
            rating,
            self._histogram,
            self._weight,
            self._bounds,
            self._mixed,
            self._low,
            self._high,
            out,
        )
        return out

    def predict(self, center: F64, known: F64) -> F64:
        """Return the intervals (n, 2)."""
        out = np.empty((center.size, 2))
        kernels.interval_predict(center, known, self._bounds, self._low, self._high, out)
        return out
