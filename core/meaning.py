"""What an event means to the rankers: evidence for the item, against it, or neither.

A rating from 60 % of the scale up is a positive, in the lowest quarter a negative, between them seen and no
more. Other kinds of feedback mean what their table says. (Only ratings teach the online experts.)
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.errors import ConfigError
from core.scale import FIVE_STARS, Scale
from core.types import F32, F64, U8

I8 = NDArray[np.int8]
Mask = NDArray[np.bool_]

RATING = 0
"""Kind code of a rating."""
CODES = 256
POSITIVE_FROM, NEGATIVE_TO = 0.6, 0.25
"""Positions on the scale: 0 is its lowest rating, 1 the highest."""
RATING_WEIGHT = 1.0


@dataclass(frozen=True)
class Meaning:
    """n events: all arrays (n,). ``weight`` >= 0 · ``sign`` 1, 0 or -1 · ``hides``: counts as seen."""

    weight: F64
    sign: I8
    hides: Mask


@dataclass(frozen=True)
class KindTable:
    """What each kind code means: arrays (256,); a code that is not in use means nothing."""

    weight: F64
    sign: I8
    hides: Mask

    @classmethod
    def of(cls, kinds: Iterable[tuple[int, float, int, bool]]) -> "KindTable":
        """Return the table of (code, weight, sign, hides) rows.

        >>> KindTable.of([(5, 2.0, 1, True)]).weight[5]
        np.float64(2.0)
        """
        table = cls(np.zeros(CODES), np.zeros(CODES, np.int8), np.zeros(CODES, np.bool_))
        for code, weight, sign, hides in kinds:
            if not (RATING < code < CODES and weight >= 0 and sign in {-1, 0, 1}):
                raise ConfigError(
                    f"a kind needs a code in 1..255, a weight of at least 0 and a sign of -1, 0 or 1, "
                    f"not {code}, {weight}, {sign}"
                )
            table.weight[code], table.sign[code], table.hides[code] = weight, sign, hides
        return table


@dataclass(frozen=True, eq=False)
class Reading:
    """How stored events are read, the same for every role: their kinds, and the scale of the ratings.

    >>> stars = np.array([1, 2, 3, 4, 5], np.float32)
    >>> Reading().meaning(np.zeros(5, np.uint8), stars).sign
    array([-1, -1,  0,  1,  1], dtype=int8)
    """

    kinds: KindTable = field(default_factory=lambda: KindTable.of(()))
    scale: Scale = FIVE_STARS

    def meaning(self, kind: U8, value: F32) -> Meaning:
        """Return what n events mean.

        kind (n,) u1 codes · value (n,) f32, the rating where kind is 0, ignored elsewhere.
        """
        rated = kind == RATING
        return Meaning(
            weight=np.where(rated, RATING_WEIGHT, self.kinds.weight[kind]),
            sign=np.where(rated, rating_sign(value, self.scale), self.kinds.sign[kind]),
            hides=rated | self.kinds.hides[kind],
        )

    def evidence(self, kind: U8, value: F32) -> F64:
        """Return what each of n events (n,) adds to its item's popularity: the weight of a positive, else 0."""
        means = self.meaning(kind, value)
        return np.where(means.sign > 0, means.weight, 0.0)


def rating_sign(rating: F32, scale: Scale) -> I8:
    """Return 1 for ratings from 60 % of the scale up, -1 for those of the lowest quarter, else 0."""
    # a hair of tolerance: 0.6 of a scale such as 0.5..4 is no float, and the rating was a float32
    position = (np.asarray(rating, np.float64) - scale.low) / (scale.high - scale.low)
    positive = position >= POSITIVE_FROM - 1e-6
    negative = position <= NEGATIVE_TO + 1e-6
    return positive.astype(np.int8) - negative.astype(np.int8)
