"""How well an item fits somebody's taste, by what is said of the item alone.

It needs no event of the item, so it places items that nobody has taken yet. Taste is learned from
the described items that somebody liked: a feature counts as far as it is more frequent among them
than among the events of everybody.
"""

from dataclasses import dataclass

import numpy as np

from core.types import F32, F64, I32, I64

DOUBT = 5.0
"""Liked items that everybody is assumed to have beside their own: the mean of all users."""


@dataclass(frozen=True, eq=False)
class Described:
    """What is said of the items 0 .. n - 1: item i has the features ``column[ptr[i]:ptr[i + 1]]``.

    ``usual`` (d,) is the share of all events on items that have a feature.
    """

    ptr: I64
    column: I32
    usual: F64

    @property
    def n_items(self) -> int:
        """Return the number of items that may be described."""
        return self.ptr.size - 1

    def has(self, items: I32) -> "np.typing.NDArray[np.bool_]":
        """Return whether anything is said of each item (m,)."""
        return self._counts(items) > 0

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
        counts, at = self._found(liked)
        of_item = np.repeat(weight.astype(np.float64), counts)
        own = np.bincount(self.column[at], of_item, self.usual.size)
        total = float(weight[counts > 0].sum())
        expected = (total + DOUBT) * self.usual
        ratio = np.ones_like(self.usual)
        np.divide(own + DOUBT * self.usual, expected, out=ratio, where=self.usual > 0.0)
        return np.log(ratio).astype(np.float32)

    def affinity(self, items: I32, taste: F32) -> F32:
        """Return how well items (m,) fit a taste: the mean over their features, 0 without any."""
        counts, at = self._found(items)
        row = np.repeat(np.arange(items.size), counts)
        total = np.bincount(row, taste[self.column[at]], items.size)
        return (total / np.maximum(counts, 1)).astype(np.float32)

    def _counts(self, items: I32) -> I64:
        known = np.minimum(items, self.n_items)
        return np.where(items < self.n_items, self.ptr[np.minimum(known + 1, self.n_items)], 0) - (
            np.where(items < self.n_items, self.ptr[known], 0)
        )

    def _found(self, items: I32) -> tuple[I64, I64]:
        """Return the number of features of each item, and the positions of all in ``column``."""
        counts = self._counts(items)
        first = self.ptr[np.minimum(items, self.n_items)]
        before = np.cumsum(counts) - counts
        return counts, np.repeat(first - before, counts) + np.arange(int(counts.sum()))


def described(item: I64, column: I32, n_items: int, n_columns: int, events: F64) -> Described:
    """Return what is said of some items, from the pairs (item, feature) in the order of items.

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
