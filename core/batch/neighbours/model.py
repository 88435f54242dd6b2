"""The fitted model: for each item, the items that it suggests, and how strongly."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from core.errors import ShapeError
from core.interactions import Interactions
from core.kernels import neighbours as kernels
from core.kernels import rows
from core.types import F32, F64, I32

FEW = 4
"""Items of a history that usually suffice to know it."""


@dataclass(frozen=True, eq=False)
class Joining:
    """What a fit knows of n items beside their strengths, so that others can join (joining.py)."""

    own: F32
    """(n,): P_ii D_i^-2b of the regression, D_i^-b of the graph; 0 for items without likes."""
    exact: bool
    """Whether it was the regression."""
    user_exponent: float
    item_exponent: float
    """a, b."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Strengths s_iy between n items; of each item i the k strongest are kept.

    The score of item y for a history is sum_i r_i s_iy, where r_i is the weight of a like and 0
    for a dislike. So the contribution of each past item is exact.

    >>> model = Neighbours(np.array([[1], [0]], np.int32), np.ones((2, 1), np.float32))
    >>> model.scores(np.array([0], np.int32)).tolist()
    [-inf, 1.0]
    """

    neighbour: I32
    """Item numbers (n, k), rising in a row."""
    strength: F32
    """(n, k); 0 where an item has fewer than k neighbours."""
    joining: Joining | None = None
    """None in models of earlier versions, which no item can join."""
    of_dense: int | None = None
    """k of a model whose rows hold all n items in order, with 0 for those that are not kept; None:
    the rows hold k items."""

    def __post_init__(self) -> None:
        if self.neighbour.ndim != 2 or self.neighbour.shape != self.strength.shape:
            shapes = f"{self.neighbour.shape} and {self.strength.shape}"
            raise ShapeError(f"neighbours and strengths must both be (items, k), not {shapes}")
        n = len(self.neighbour)
        if self.neighbour.size and not 0 <= self.neighbour.min() <= self.neighbour.max() < n:
            raise ShapeError(f"neighbours must be item numbers in 0 .. {n - 1}")
        if self.joining is not None and self.joining.own.shape != (n,):
            raise ShapeError(f"own has shape {self.joining.own.shape} for {n} items")

    @classmethod
    def dense(cls, strength: F32, k: int, joining: Joining | None = None) -> "Neighbours":
        """Return a model from the strengths between all items (n, n), of which k a row count.

        >>> model = Neighbours.dense(np.array([[0, 1], [1, 0]], np.float32), 1)
        >>> model.scores(np.array([0], np.int32)).tolist()
        [-inf, 1.0]
        """
        n = len(strength)
        # one row in memory, seen n times
        items = np.broadcast_to(np.arange(n, dtype=np.int32), (n, n))
        return cls(items, strength, joining, k)

    @property
    def k(self) -> int:
        """Return how many neighbours an item may keep."""
        return self.neighbour.shape[1] if self.of_dense is None else self.of_dense

    def smaller(self) -> "Neighbours":
        """Return the model with dense rows, which are added faster, unless they take more memory.

        A neighbour takes 8 bytes, a place of a dense row 4.
        """
        if self.of_dense is not None or 2 * self.k < self.n_items:
            return self
        strength = np.zeros((self.n_items, self.n_items), np.float32)
        for row, items, own in zip(strength, self.neighbour, self.strength, strict=True):
            row[items[own != 0.0]] = own[own != 0.0]
        return Neighbours.dense(strength, self.k, self.joining)

    @property
    def n_items(self) -> int:
        return len(self.neighbour)

    @cached_property
    def learned(self) -> "np.typing.NDArray[np.bool_]":
        """Return which items have neighbours, (n,)."""
        some: np.typing.NDArray[np.bool_] = np.any(self.strength, axis=1, keepdims=False)
        return some

    @cached_property
    def diagonal(self) -> F32:
        """Return how strongly each item speaks for itself, (n,); 0 where that is not kept."""
        own = np.arange(self.n_items)[:, None]
        # padding names item 0 with strength 0
        found: F32 = np.where(self.neighbour == own, self.strength, np.float32(0.0)).sum(axis=1)
        return found

    @cached_property
    def weakest(self) -> F32:
        """Return the least size of a strength that each item keeps, (n,); 0 if it keeps all."""
        size = np.abs(self.strength)
        if self.of_dense is None:
            least: F32 = size.min(axis=1, initial=np.float32(np.inf))
            return least
        kept = np.count_nonzero(size, axis=1) >= self.k
        size[size == 0.0] = np.inf
        return np.where(kept, size.min(axis=1, initial=np.float32(np.inf)), np.float32(0.0))

    def knows(self, item_ix: I32, target: F32 | None = None) -> bool:
        """Return whether a history has a like of an item that has neighbours."""
        if item_ix.size > FEW:
            first = item_ix[:FEW], None if target is None else target[:FEW]
            if self.knows(*first):
                return True
        within = item_ix < self.n_items
        liked = within if target is None else within & (target > 0.0)
        return bool(self.learned[item_ix[liked]].any())

    def scores(self, item_ix: I32, weight: F32 | None = None, target: F32 | None = None) -> F32:
        """Return the score of each item (n,); -inf where no item of the history speaks of it."""
        scores = self.sums(item_ix, self._amounts(item_ix, weight, target))
        scores[scores == 0.0] = -np.inf
        return scores

    def sums(self, item_ix: I32, amount: F32) -> F32:
        """Return sum_i r_i s_iy of each item y (n,) for amounts r (h,)."""
        found = np.zeros(self.n_items, np.float32)
        if self.of_dense is None:
            kernels.add_rows(item_ix, amount, self.neighbour, self.strength, found)
        else:
            some = amount != 0.0
            rows.add_rows(item_ix[some], amount[some], self.strength, found)
        return found

    def scores_of(self, histories: Interactions) -> F32:
        """Return the scores of all items for several histories, (users, n)."""
        scores = np.empty((histories.n_users, self.n_items), np.float32)
        for user in range(histories.n_users):
            at = slice(histories.ptr[user], histories.ptr[user + 1])
            weight = None if histories.weight is None else histories.weight[at]
            target = None if histories.target is None else histories.target[at]
            scores[user] = self.scores(histories.item_ix[at], weight, target)
        return scores

    def contributions(self, item_ix: I32, weight: F32, target: F32, items: I32) -> F64:
        """Return what each past item (h,) adds to the scores of some items (k,), (k, h).

        Equation   contribution = r_i s_iy; the score is their sum
        """
        found = np.zeros((items.size, item_ix.size))
        for at, item in enumerate(item_ix.tolist()):
            found[:, at] = self._row(item)[items]
        found *= self._amounts(item_ix, weight, target)
        return found

    def similar(self, item: int) -> F32:
        """Return how strongly an item suggests each other one (n,); -inf where not at all."""
        row = self._row(item)
        row[item] = 0.0
        row[row <= 0.0] = -np.inf
        return row.astype(np.float32)

    def _row(self, item: int) -> F64:
        row = np.zeros(self.n_items)
        # padding adds 0 to item 0
        np.add.at(row, self.neighbour[item], self.strength[item])
        return row

    def _amounts(self, item_ix: I32, weight: F32 | None, target: F32 | None) -> F32:
        amount: Any = np.ones(item_ix.size, np.float32) if weight is None else weight
        liked = amount if target is None else np.where(target > 0.0, amount, 0.0)
        return np.ascontiguousarray(liked, np.float32)
