"""The meaning of an event for the rankers: evidence for an item, against it, or neither.

A rating in the upper 40 % of the scale is positive, one in the lowest quarter negative; a rating
between them only marks the item as seen. A table gives the meaning of all other kinds of feedback.
The online experts learn from ratings alone.

The weights of kinds are the setting ``kinds``; ``configs.meanings`` in ``service`` builds the
``EventMeanings`` by which learners, rankers and training read events. ``hides`` means seen by one
user; it has nothing to do with items whose document says ``hidden``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.errors import ConfigError
from core.scale import FIVE_STARS, Scale
from core.types import F32, F64, I64, U8

I8 = NDArray[np.int8]
Mask = NDArray[np.bool_]

RATING = 0
"""Kind code of a rating."""
CODES = 256
"""Number of kind codes."""
POSITIVE_FROM, NEGATIVE_TO = 0.6, 0.25
"""Positions on the scale from its lowest rating (0) to its highest (1)."""
RATING_WEIGHT = 1.0
"""Weight of any rating."""


class HistoryColumns(NamedTuple):
    """What rankers read in n records of a history; arrays (n,)."""

    item: NDArray[Any]
    """Item numbers."""
    kind: U8
    value: F32
    """Ratings, where the kind is one."""
    sequence: I64
    """The order of the events of a user."""

    def at(self, chosen: Mask) -> "HistoryColumns":
        """Return the chosen records."""
        item, kind, value, sequence = self
        return HistoryColumns(item[chosen], kind[chosen], value[chosen], sequence[chosen])


@dataclass(frozen=True)
class Meaning:
    """The meaning of n events, arrays (n,).

    ``weight`` >= 0 · ``sign`` 1, 0 or -1 · ``hides``: whether the event marks the item as seen.
    """

    weight: F64
    sign: I8
    hides: Mask


@dataclass(frozen=True)
class KindTable:
    """The meaning of each kind code, arrays (256,); unused codes have weight and sign 0."""

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
                    "a kind needs a code in 1..255, a weight of at least 0 and a sign of -1, 0 or"
                    f" 1, not {code}, {weight}, {sign}"
                )
            table.weight[code], table.sign[code], table.hides[code] = weight, sign, hides
        return table


@dataclass(frozen=True, eq=False)
class EventMeanings:
    """The rules that give stored events their meaning: a table of kinds and the scale of ratings.

    Every role has the same one, so an event means the same to learners, rankers and training.

    >>> stars = np.array([1, 2, 3, 4, 5], np.float32)
    >>> EventMeanings().meaning(np.zeros(5, np.uint8), stars).sign
    array([-1, -1,  0,  1,  1], dtype=int8)
    """

    kinds: KindTable = field(default_factory=lambda: KindTable.of(()))
    scale: Scale = FIVE_STARS

    def meaning(self, kind: U8, value: F32) -> Meaning:
        """Return the meaning of n events.

        kind (n,) u1 codes · value (n,) f32, the rating where kind is 0, ignored elsewhere.
        """
        rated = kind == RATING
        return Meaning(
            weight=np.where(rated, RATING_WEIGHT, self.kinds.weight[kind]),
            sign=np.where(rated, rating_sign(value, self.scale), self.kinds.sign[kind]),
            hides=rated | self.kinds.hides[kind],
        )

    def evidence(self, kind: U8, value: F32) -> F64:
        """Return the evidence (n,) that items are wanted: the weight of a positive, else 0."""
        means = self.meaning(kind, value)
        return np.where(means.sign > 0, means.weight, 0.0)


def rating_sign(rating: F32, scale: Scale) -> I8:
    """Return 1 for ratings in the upper 40 % of the scale, -1 for the lowest quarter, else 0."""
    # 0.6 of a scale such as 0.5..4 is not a float32, which the rating was
    position = (np.asarray(rating, np.float64) - scale.low) / (scale.high - scale.low)
    positive = position >= POSITIVE_FROM - 1e-6
    negative = position <= NEGATIVE_TO + 1e-6
    return positive.astype(np.int8) - negative.astype(np.int8)
