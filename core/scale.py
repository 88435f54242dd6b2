"""The native scale of the ratings, and the internal scale 1..5 on which online models compute."""

from dataclasses import dataclass
from math import isfinite

from core.errors import ConfigError
from core.types import F64

LOWEST, HIGHEST = 1.0, 5.0
"""Ends of the internal scale."""


@dataclass(frozen=True)
class Scale:
    """The native scale of the ratings, from ``low`` to ``high``.

    >>> import numpy as np
    >>> Scale(0, 100).inside(np.array([0.0, 50.0, 100.0]))
    array([1., 3., 5.])
    """

    low: float = 1.0
    high: float = 5.0

    def __post_init__(self) -> None:
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            raise ConfigError(f"a scale needs finite low < high, not {self.low}:{self.high}")
        # as floats: 1..5 and 1.0..5.0 are the same scale and must have the same fingerprint
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    def inside(self, native: F64) -> F64:
        """Return native ratings on the internal scale 1..5."""
        return LOWEST + (native - self.low) * ((HIGHEST - LOWEST) / (self.high - self.low))

    def native(self, inside: F64) -> F64:
        """Return ratings of the internal scale 1..5 on the native scale."""
        return self.low + (inside - LOWEST) * ((self.high - self.low) / (HIGHEST - LOWEST))


FIVE_STARS = Scale()
"""The scale 1..5."""
