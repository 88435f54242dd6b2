"""Judged events for learning to rank: each has candidate items, and the one that the user took."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.types import F32, F64, I32, I64


class Choice(NamedTuple):
    """One event: m items with their signals, and which of them was taken."""

    signals: F32
    """(m, d): numbers that count for or against each item."""
    taken: int
    """Row of the item that was taken; -1: it is not among them."""
    length: int
    """Number of preferences of the user before the event."""


@dataclass(frozen=True, eq=False)
class Choices:
    """n events one after the other; the items of event e are rows ``ptr[e]`` .. ``ptr[e + 1]``."""

    ptr: I64
    """(n + 1,)"""
    signals: F32
    """(rows, d)"""
    taken: I64
    """(n,): row of the taken item among all rows; -1: it is not listed."""
    length: I32
    """(n,): length of the history before each event."""

    def __len__(self) -> int:
        return self.taken.size

    @property
    def counts(self) -> I64:
        """Return the number of items of each event, (n,)."""
        return np.diff(self.ptr)

    @cached_property
    def event(self) -> I64:
        """Return the event of each row, (rows,)."""
        return np.repeat(np.arange(len(self)), self.counts)

    def split(self, n: int) -> tuple["Choices", "Choices"]:
        """Return the first n events and the others; nothing is copied but the small tables."""
        row = int(self.ptr[n])
        first = Choices(self.ptr[: n + 1], self.signals[:row], self.taken[:n], self.length[:n])
        taken = np.where(self.taken[n:] >= 0, self.taken[n:] - row, -1)
        others = Choices(self.ptr[n:] - row, self.signals[row:], taken, self.length[n:])
        return first, others

    def keep(self, chosen: NDArray[Any]) -> "Choices":
        """Return the events that are marked in a mask (n,)."""
        rows = np.repeat(chosen, self.counts)
        ptr = np.concatenate([[0], np.cumsum(self.counts[chosen])]).astype(np.int64)
        at = self.taken[chosen] - self.ptr[:-1][chosen]
        taken = np.where(self.taken[chosen] >= 0, at + ptr[:-1], -1)
        return Choices(ptr, self.signals[rows], taken, self.length[chosen])


def joined(parts: Sequence[Choices]) -> Choices:
    """Return the events of several tables as one; their signals have the same columns.

    >>> one = choices_of([Choice(np.ones((2, 1), np.float32), taken=1, length=4)])
    >>> joined([one, one]).taken.tolist()
    [1, 3]
    """
    rows = np.concatenate([[0], np.cumsum([len(part.signals) for part in parts])])
    moved = list(zip(parts, rows[:-1].tolist(), strict=True))
    ptr = [part.ptr[1:] + first for part, first in moved]
    taken = [np.where(part.taken >= 0, part.taken + first, -1) for part, first in moved]
    return Choices(
        np.concatenate([np.zeros(1, np.int64), *ptr]),
        np.concatenate([part.signals for part in parts]),
        np.concatenate(taken),
        np.concatenate([part.length for part in parts]),
    )


def choices_of(events: Iterable[Choice]) -> Choices:
    """Return events as one table; events without items are left out.

    >>> one = Choice(np.ones((2, 1), np.float32), taken=1, length=4)
    >>> choices_of([one, one]).taken.tolist()
    [1, 3]
    """
    kept = [event for event in events if len(event.signals)]
    ptr = np.concatenate([[0], np.cumsum([len(event.signals) for event in kept])]).astype(np.int64)
    none: F32 = np.zeros((0, 0), np.float32)
    signals = np.concatenate([event.signals for event in kept]) if kept else none
    taken = np.array([event.taken for event in kept], np.int64)
    return Choices(
        ptr,
        signals.astype(np.float32, copy=False),
        np.where(taken >= 0, taken + ptr[:-1], -1),
        np.array([event.length for event in kept], np.int32),
    )


def ranks(choices: Choices, score: F64 | F32) -> I64:
    """Return the rank of the taken item among those of its event, (n,); 0: it is not listed.

    Ties are broken by row. ``score`` is (rows,).

    >>> one = Choice(np.array([[3.0], [5.0], [5.0]], np.float32), taken=2, length=0)
    >>> listed = choices_of([one])
    >>> ranks(listed, listed.signals[:, 0]).tolist()
    [2]
    """
    found = np.zeros(len(choices), np.int64)
    listed = np.flatnonzero(choices.taken >= 0)
    if not listed.size:
        return found
    own = np.zeros(len(choices))
    own[listed] = score[choices.taken[listed]]
    rows, event = np.arange(len(score)), choices.event
    first = (score == own[event]) & (rows < choices.taken[event])
    above = np.bincount(event[(score > own[event]) | first], minlength=len(choices))
    found[listed] = 1 + above[listed]
    return found


def ndcg10(rank: I64) -> F64:
    """Return ndcg@10 of lists with one relevant item at these ranks, (n,); rank 0: not listed.

    >>> ndcg10(np.array([1, 3, 0, 11])).tolist()
    [1.0, 0.5, 0.0, 0.0]
    """
    gain: F64 = np.where((rank > 0) & (rank <= 10), 1.0 / np.log2(1.0 + np.maximum(rank, 1)), 0.0)
    return gain
