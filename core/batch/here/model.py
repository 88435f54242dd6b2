"""What is liked in a context, compared with what is liked at all.

The *lift* of an item says how much more often it is liked where a name has a text (``device`` is
``phone``) than anywhere else. The lifts of all names and texts of a context add up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.batch.here.likes import Said
from core.types import F32, I32


@dataclass(frozen=True, eq=False)
class Here:
    """The lifts of all items for k names and texts.

    >>> share = np.array([0.75, 0.25], np.float32)
    >>> lift = np.log(np.array([[1.0, 3.0]], np.float32))
    >>> made = Here([("device", "tv")], lift, share)
    >>> made.known({"device": "tv", "page": "home"}), made.known({"device": "phone"})
    ((0,), ())
    >>> made.scores((0,)).tolist()
    [0.75, 0.75]
    """

    said: Sequence[Said]
    lift: F32
    """(k, n): logarithms; 0 for an item that nobody liked."""
    share: F32
    """(n,): share of each item in all that was liked."""

    @property
    def n_items(self) -> int:
        return self.share.size

    def known(self, context: Mapping[str, str]) -> tuple[int, ...]:
        """Return which names and texts of a context the model has learned, ascending."""
        found = (self._numbers.get(pair) for pair in context.items())
        return tuple(sorted(number for number in found if number is not None))

    def lifts(self, known: Sequence[int], items: I32) -> F32:
        """Return the lift of some items (m,) in a context; 0 for an unknown item."""
        found = np.zeros(items.size, np.float32)
        within = items < self.n_items
        for number in known:
            found[within] += self.lift[number, items[within]]
        return found

    def scores(self, known: Sequence[int]) -> F32:
        """Return the share of each item (n,) times its lift; -inf for one that nobody liked."""
        lift = np.zeros(self.n_items, np.float32)
        for number in known:
            lift += self.lift[number]
        return np.where(self.share > 0.0, self.share * np.exp(lift), np.float32(-np.inf))

    @cached_property
    def _numbers(self) -> Mapping[Said, int]:
        return {pair: number for number, pair in enumerate(self.said)}
