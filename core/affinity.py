"""How well an item fits somebody's taste, judged by its description alone.

It needs no event of the item, so it places items that nobody has taken yet. Taste is learned from
the described items that somebody liked: a feature counts as far as it is more frequent among them
than among the events of everybody.
"""

from dataclasses import dataclass

import numpy as np

from core.kernels import affinity as kernels
from core.types import F32, F64, I32, I64

DOUBT = 5.0
"""Liked items that everybody is assumed to have beside their own: the mean of all users."""


@dataclass(frozen=True, eq=False)
class Described:
    """Descriptions of items 0 .. n - 1: item i has the features ``column[ptr[i]:ptr[i + 1]]``.

    ``usual`` (d,) is the share of all events on items that have a feature.
    """

    ptr: I64
    column: I32
    usual: F64

    @property
    def n_items(self) -> int:
        """Return the number of items that may be described."""
        return self.ptr.size - 1

    def taste(self, liked: I32, weight: F32) -> F32:
        """Return how much more than usual somebody likes each feature, (d,).

        Equation   log of (sum over liked items with it of weight + DOUBT usual) /
                   ((sum over described liked items of weight + DOUBT) usual); 0 if nobody took it
        Shapes     liked (k,) item numbers · weight (k,) above 0

        >>> films = described(
        ...     np.array([0, 1, 2]), np.array([0, 1, 1], np.int32), 3, 2, np.array([1.0, 1, 0])
        ... )
        >>> films.taste(np.array([0], np.int32), np.ones(1, np.float32)).round(2)
        array([ 0.15, -0.18], dtype=float32)
        """
        found = np.empty(self.usual.size, np.float32)
        kernels.taste(
            self.ptr,
            self.column,
            self.usual,
            np.ascontiguousarray(liked, np.int32),
            np.ascontiguousarray(weight, np.float32),
            DOUBT,
            np.zeros(self.usual.size),
            found,
        )
        return found

    def affinity(self, items: I32, taste: F32) -> F32:
        """Return how well items (m,) fit a taste: the mean over their features, 0 without any."""
        found = np.empty(items.size, np.float32)
        kernels.affinity(self.ptr, self.column, taste, np.ascontiguousarray(items, np.int32), found)
        return found


def described(item: I64, column: I32, n_items: int, n_columns: int, events: F64) -> Described:
    """Return the descriptions of some items, from the pairs (item, feature) in the order of items.

    Shapes     item, column (p,) · events (n,) evidence of each item; items beyond them have none
    """
    ptr = np.searchsorted(item, np.arange(n_items + 1)).astype(np.int64)
    taken = np.zeros(n_items)
    taken[: min(n_items, events.size)] = events[:n_items]
    of_feature = np.bincount(column, taken[item], n_columns)
    total = taken[np.unique(item)].sum() if item.size else 0.0
    usual = of_feature / total if total > 0.0 else np.zeros(n_columns)
    return Described(ptr, column.astype(np.int32), usual)


NOTHING_SAID = Described(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0))
"""No item is described."""
