"""Lists for learning to rank: each has candidate items, and several that the user wanted.

Where pairs are held out without an order, a user wants several items at once. The lists are what
an evaluation measures; the events that are made of them are what a fit learns from.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from core.kernels.scan import Mask
from core.stack.choices import Choice, Choices, choices_of
from core.types import F32, F64, I32, I64

DEPTH = 10
_DISCOUNT = 1.0 / np.log2(np.arange(2, DEPTH + 2))


class Candidates(NamedTuple):
    """The candidates for one user: m items with their signals, and those that the user wanted."""

    user: int
    signals: F32
    """(m, d)"""
    wanted: Mask
    """(m,)"""
    n_wanted: int
    """Number of wanted items, those that are no candidates among them."""
    length: int
    """Number of preferences of the user."""


@dataclass(frozen=True, eq=False)
class Lists:
    """n lists; the candidates of list l are the rows ``ptr[l]`` .. ``ptr[l + 1]``."""

    user: I64
    """(n,)"""
    ptr: I64
    """(n + 1,)"""
    signals: F32
    """(rows, d)"""
    wanted: Mask
    """(rows,)"""
    n_wanted: I64
    """(n,)"""
    length: I32
    """(n,)"""

    def __len__(self) -> int:
        return self.user.size

    @cached_property
    def list_of(self) -> I64:
        """Return the list of each row, (rows,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.ptr))

    @property
    def choices(self) -> Choices:
        """Return the lists without what was wanted, to be scored."""
        nothing = np.full(len(self), -1, np.int64)
        return Choices(self.ptr, self.signals, nothing, self.length)

    def ndcg10(self, score: F32 | F64) -> F64:
        """Return ndcg@10 of each list in the order of a score (rows,), (n,); ties go by row.

        Equation   sum of 1 / log2(1 + rank) over the wanted items among the first ten, divided by
                   its value if these were the first
        """
        order = np.lexsort((-score, self.list_of))
        rank = np.arange(order.size) - np.repeat(self.ptr[:-1], np.diff(self.ptr))
        hit = self.wanted[order] & (rank < DEPTH)
        found = np.bincount(self.list_of[hit], _DISCOUNT[rank[hit]], minlength=len(self))
        best = np.concatenate([[np.inf], np.cumsum(_DISCOUNT)])
        gain: F64 = found / best[np.minimum(self.n_wanted, DEPTH)]
        return gain

    def events(self, most: int, rng: np.random.Generator) -> tuple[Choices, I64]:
        """Return an event for each wanted candidate, at most ``most``, and the list of each (e,).

        Each list has the same number of events as far as it has so many. The other items that the
        user wanted are not to choose from: whichever of them came first was no mistake.
        """
        rows = np.flatnonzero(self.wanted)
        order = np.lexsort((rng.random(rows.size), self.list_of[rows]))
        of_list = self.list_of[rows]
        first = np.searchsorted(of_list, np.arange(len(self)))
        turn = np.empty(rows.size, np.int64)
        turn[order] = np.arange(rows.size) - first[of_list[order]]
        chosen = rows[np.sort(np.lexsort((rng.random(rows.size), turn))[:most])]
        return choices_of([self._event(row) for row in chosen.tolist()]), self.list_of[chosen]

    def _event(self, row: int) -> Choice:
        at = int(self.list_of[row])
        rows = slice(int(self.ptr[at]), int(self.ptr[at + 1]))
        kept = ~self.wanted[rows]
        kept[row - rows.start] = True
        taken = int(np.count_nonzero(kept[: row - rows.start]))
        return Choice(self.signals[rows][kept], taken, int(self.length[at]))


def lists_of(found: Iterable[Candidates]) -> Lists:
    """Return the candidates of several users as one table; users without any are left out.

    >>> one = Candidates(7, np.array([[3.0], [5.0]], np.float32), np.array([True, False]), 1, 4)
    >>> made = lists_of([one, one])
    >>> made.ndcg10(made.signals[:, 0]).round(2).tolist()
    [0.63, 0.63]
    """
    kept = [one for one in found if len(one.signals)]
    ptr = np.concatenate([[0], np.cumsum([len(one.signals) for one in kept])]).astype(np.int64)
    none: F32 = np.zeros((0, 0), np.float32)
    return Lists(
        user=np.array([one.user for one in kept], np.int64),
        ptr=ptr,
        signals=np.concatenate([one.signals for one in kept]) if kept else none,
        wanted=np.concatenate([np.zeros(0, np.bool_), *(one.wanted for one in kept)]),
        n_wanted=np.array([one.n_wanted for one in kept], np.int64),
        length=np.array([one.length for one in kept], np.int32),
    )
