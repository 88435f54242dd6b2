"""What follows each item: the counted transitions, ordered for reading."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from core.kernels import transitions as kernels
from core.transitions.table import REACH, Counted
from core.types import F32, F64, I32, I64

DECAY = 0.7
"""Weight of an item of the user's order, relative to the next newer one."""
FROM, TO = 0.5, 0.25
"""Powers of the weight that leaves an item and arrives at one, by which a pair is divided."""
CLOSE = 4
"""Power of the ratio of two places in a history, by which an opening counts for another place."""


@dataclass(frozen=True, eq=False)
class Successors:
    """Followers of each item: of item a, entries ``ptr[a]`` up to ``ptr[a + 1]``.

    >>> pairs = Successors.of([], now_ms=0)
    >>> pairs.scores(np.array([0], np.int32), 3).tolist()
    [0.0, 0.0, 0.0]
    """

    ptr: I64
    """(items + 1,)"""
    after: I32
    """Item numbers in rising order for each item, (entries,)."""
    weight: F32
    """Share of each follower, above 0, (entries,)."""
    opening: F32
    """Weight with which each item was the first one of a user, the second one and so on,
    (items, REACH)."""

    @classmethod
    def of(cls, parts: Iterable[Counted], *, now_ms: float) -> "Successors":
        """Return the followers by the sum of some counts, with shares instead of weights.

        A row dated in the future counts as one of ``now_ms``: else all others would weigh nothing.

        Equation   W[a, b] = sum_p C_p[a, b] 2^-(rate max(T - T_b, 0)),
                   T the newest time of a row, at most ``now_ms``;
                   share[a, b] = W[a, b] / (sum_b W[a, b])^.5 / (sum_a W[a, b])^.25;
                   opening[b] = sum_p O_p[b] 2^-(rate max(T - T_b, 0))
        """
        given = [part for part in parts if part.entries.before.size]
        if not given:
            none: F32 = np.empty(0, np.float32)
            opening: F32 = np.empty((0, REACH), np.float32)
            return cls(np.zeros(1, np.int64), np.empty(0, np.int32), none, opening)
        n = max(max(part.row_ms.size, int(part.entries.before.max()) + 1) for part in given)
        newest = min(now_ms, max(float(part.row_ms.max()) for part in given))
        shares = _normalised(*_summed([_by_predecessor(part, newest, n) for part in given]))
        return cls(*shares, _openings(given, newest, n))

    @property
    def n_items(self) -> int:
        return self.ptr.size - 1

    def scores(self, latest: I32, n_items: int) -> F32:
        """Return how strongly each item (n_items,) follows a user's latest items; 0: not at all.

        Equation   score[b] = sum_m DECAY^m share[a_m, b], a_m the m-th latest item
        Shapes     latest (m,) item numbers, newest first
        """
        scores: F32 = np.zeros(max(n_items, self.n_items), np.float32)
        kernels.expect(latest, self.ptr, self.after, self.weight, DECAY, scores)
        return scores[:n_items]

    def has(self, item: int) -> bool:
        """Whether anything follows the item."""
        return item < self.n_items and bool(self.ptr[item + 1] > self.ptr[item])

    def around(self, item: int, n_items: int) -> F32:
        """Return how strongly each item (n_items,) follows an item or comes before it.

        Equation   score[b] = share[item, b] + share[b, item]
        """
        scores = self.scores(np.array([item], np.int32), max(n_items, self.n_items))
        at = np.flatnonzero(self.after == item)
        scores[np.searchsorted(self.ptr, at, side="right") - 1] += self.weight[at]
        return scores[:n_items]

    def openings(self, n: int, items: I32) -> F32:
        """Return how often items (m,) came at about this point of a history: after n others.

        Equation   sum over the places k = 1 .. REACH of O[b, k] (min(k, n + 1) / max(k, n + 1))^4;
                   0 from n = 2 REACH on, and for items that are not known
        """
        found: F32 = np.zeros(items.size, np.float32)
        known = items < len(self.opening)
        if n < 2 * REACH:
            place = np.arange(1, REACH + 1)
            near = (np.minimum(place, n + 1) / np.maximum(place, n + 1)) ** CLOSE
            found[known] = self.opening[items[known]] @ near.astype(np.float32)
        return found

    def shares(self, before: I32, after: I32) -> F32:
        """Return the share of each pair, (before, after)."""
        found = np.zeros((before.size, after.size), np.float32)
        for row, item in zip(found, before.tolist(), strict=True):
            if self.has(item):
                first, end = self.ptr[item], self.ptr[item + 1]
                at = np.minimum(np.searchsorted(self.after[first:end], after), end - first - 1)
                row[:] = np.where(self.after[first + at] == after, self.weight[first + at], 0.0)
        return found


_Index = tuple[I64, I32, F32]


def _left(part: Counted, newest: float) -> F64:
    """Return the share of the weights of each row that time has left, (rows,)."""
    left: F64 = np.exp2(np.minimum(part.row_ms - newest, 0.0) / part.half_life_ms)
    return left


def _openings(parts: list[Counted], newest: float, n: int) -> F32:
    found: F32 = np.zeros((n, REACH), np.float32)
    for part in parts:
        left = _left(part, newest).astype(np.float32)
        found[: part.row_ms.size] += part.entries.opening * left[:, None]
    return found


def _by_predecessor(part: Counted, newest: float, n: int) -> _Index:
    found = part.entries
    weight = found.weight * np.repeat(_left(part, newest), found.n).astype(np.float32)
    ptr = np.zeros(n + 1, np.int64)
    after, sorted_weight = np.empty_like(found.before), np.empty_like(weight)
    kernels.by_predecessor(found.n, found.before, weight, ptr, after, sorted_weight)
    return ptr, after, sorted_weight


def _summed(parts: list[_Index]) -> _Index:
    """Return the sum of indices with the same number of items."""
    if len(parts) == 1:
        return parts[0]
    n = parts[0][0].size - 1
    total = sparse.csr_array((n, n), dtype=np.float32)
    for ptr, after, weight in parts:
        # both have their columns in order, so they are added without a sort
        total = total + sparse.csr_array((weight, after, ptr), shape=(n, n))
    return total.indptr.astype(np.int64), total.indices.astype(np.int32), total.data


def _normalised(ptr: I64, after: I32, weight: F32) -> _Index:
    n = ptr.size - 1
    before = np.repeat(np.arange(n), np.diff(ptr))
    leaving = np.bincount(before, weight, n)
    arriving = np.bincount(after, weight, n)
    # weights that have decayed to nothing have no share
    with np.errstate(divide="ignore", invalid="ignore"):
        share = weight / leaving[before] ** FROM / arriving[after] ** TO
    return ptr, after, np.nan_to_num(share, nan=0.0, posinf=0.0).astype(np.float32)
