"""The items that an answer may choose from, and the selection of the best of them.

Lists are (item numbers, scores); ties are broken by item number. All kernels used here are serial
and release the GIL.
"""

from typing import TypeAlias

import msgspec
import numpy as np
from msgspec import Struct

from core.kernels import scan
from core.kernels.scan import Mask
from core.types import F32, I32

NOTHING: I32 = np.empty(0, np.int32)

Ranked: TypeAlias = tuple[I32, F32]
"""Item numbers, best first, and their scores."""

HEAD = 128
"""Length of a cached head, in items: a mixture reads 100."""


class Pool(Struct, frozen=True, eq=False):
    """The items that an answer may choose from."""

    allowed: Mask
    """(n,) mask of the items that may be shown."""
    excluded: I32 = msgspec.field(default_factory=lambda: NOTHING)
    """Item numbers that are left out, ascending."""
    candidates: I32 | None = None
    """Item numbers below n, ascending; if given, all other items are left out."""
    reopened: int | None = None
    """Changes when the catalogue shows an item again that it did not show; None: the request
    chooses among the items that are shown."""
    time_ms: int = 0
    """When it was asked for."""

    @property
    def listed(self) -> I32:
        """Return the candidates that are allowed and not excluded, ascending."""
        items = NOTHING if self.candidates is None else self.candidates
        items = items[self.allowed[items]]
        return items[~np.isin(items, self.excluded, assume_unique=True)]

    @property
    def size(self) -> int:
        """Return the number of items to choose from."""
        if self.candidates is not None:
            return self.listed.size
        excluded = self.excluded[self.excluded < self.allowed.size]
        return int(np.count_nonzero(self.allowed) - np.count_nonzero(self.allowed[excluded]))

    @property
    def fitting(self) -> int:
        """Return the size of the pool if no item were excluded."""
        return Pool(self.allowed, NOTHING, self.candidates).size

    def without(self, items: I32) -> "Pool":
        """Return the pool with more items excluded."""
        return msgspec.structs.replace(self, excluded=np.union1d(self.excluded, items))


class Head(Struct, frozen=True, eq=False):
    """The top of a ranker's order for one user, without the seen items."""

    version: str
    """Version of the data that the ranker computed it from."""
    items: I32
    scores: F32
    whole: bool
    """Whether it is the complete order."""

    @property
    def nbytes(self) -> int:
        return self.items.nbytes + self.scores.nbytes

    def best(self, pool: Pool, n: int) -> Ranked | None:
        """Return the best n unseen items of a pool; None if some may lie below the head."""
        ranked = first((self.items, self.scores), pool, n)
        return ranked if self.whole or ranked[0].size == n else None


def all_among(items: I32, allowed: Mask) -> bool:
    """Whether a mask (n,) has all of some items; it does not have those from n on."""
    reach = int(items.max(initial=-1)) < allowed.size
    return reach and bool(allowed[items].all())


def first(order: Ranked, pool: Pool, n: int) -> Ranked:
    """Return the first n items of an order that are in a pool without candidates."""
    items, scores = order
    item, score = _empty(min(n, items.size))
    size = scan.first(items, scores, pool.excluded, pool.allowed, item, score)
    return item[:size], score[:size]


def chosen(scores: F32, pool: Pool, n: int) -> Ranked:
    """Return the best n items by ``scores``, indexed by item number; -inf leaves an item out."""
    if pool.candidates is not None:
        listed = pool.listed
        listed = listed[listed < scores.size]
        listed = listed[np.isfinite(scores[listed])]
        return ordered(listed, scores[listed], n)
    item, score = _empty(min(n, scores.size))
    if item.size:
        scan.select(scores, pool.excluded, pool.allowed, item, score)
    return _filled(item, score)


def nearest(vector: F32, item_vectors: F32, pool: Pool, n: int) -> Ranked:
    """Return the n items whose vectors have the largest dot products with ``vector``."""
    n_items = len(item_vectors)
    if pool.candidates is not None:
        listed = pool.listed
        listed = listed[listed < n_items]
        return ordered(listed, item_vectors[listed] @ vector, n)
    item, score = _empty(min(n, n_items))
    if item.size:
        scan.scan(vector, item_vectors, pool.excluded, pool.allowed, item, score)
    return _filled(item, score)


def ordered(items: I32, scores: F32, n: int) -> Ranked:
    """Return the best n of some items."""
    order = np.lexsort((items, -scores))[:n]
    return items[order], scores[order]


def _empty(n: int) -> Ranked:
    return np.empty(n, np.int32), np.empty(n, np.float32)


def _filled(item: I32, score: F32) -> Ranked:
    """Cut off the unused end of the arrays."""
    if not item.size or item[-1] >= 0:
        return item, score
    n = int(np.count_nonzero(item >= 0))
    return item[:n], score[:n]
