"""Lists that are the same for everybody: popular items and trending items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from core.kernels import scan
from core.types import F32
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.family import Family
from service.ranking.pool import Pool, Ranked, chosen
from service.ranking.ranker import Listed, Ranker
from service.ranking.strategies import POPULAR, TRENDING


def _nothing() -> Ranked:
    return np.empty(0, np.int32), np.empty(0, np.float32)


class SharedList(Ranker):
    """One order of all items; items without events are ranked last, by item number."""

    def __init__(self, family: Family, order: Ranked, seen_through: Mapping[int, int]) -> None:
        super().__init__(family, family.strategy, seen_through)
        items, scores = order
        self.n_items = self.effort = int(items.max(initial=-1)) + 1
        by_number = np.zeros(self.n_items, np.float32)
        by_number[items] = scores
        without = np.ones(self.n_items, np.bool_)
        without[items] = False
        everything = np.concatenate([items, np.flatnonzero(without).astype(np.int32)])
        self._ranked: Ranked = everything, by_number
        """All item numbers, best first; the scores, indexed by item number."""

    def knows(self, asker: Asker) -> bool:
        return False

    def best(self, asker: Asker, pool: Pool, n: int) -> Listed:
        order, scores = self._reaching(pool.allowed.size)
        if pool.candidates is not None:
            return Listed(*chosen(scores[: pool.allowed.size], pool, n))
        at = np.empty(min(n, pool.allowed.size), np.int32)
        scan.first(order, pool.excluded, pool.allowed, at)
        item = order[at[at >= 0]]
        return Listed(item, scores[item])

    def scores(self, asker: Asker) -> F32:
        return self._ranked[1][: self.n_items]

    def _reaching(self, n_items: int) -> Ranked:
        """Return the order and the scores, extended to at least ``n_items`` items."""
        order, scores = self._ranked
        if scores.size < n_items:
            # kept: the longer order also serves smaller pools
            more = np.arange(scores.size, n_items, dtype=np.int32)
            order = np.concatenate([order, more])
            scores = np.concatenate([scores, np.zeros(more.size, np.float32)])
            self._ranked = order, scores
        return order, scores


@dataclass(frozen=True, eq=False)
class Orders:
    """The orders of all items with evidence, best first: the state of these two families."""

    popular: Ranked = field(default_factory=_nothing)
    """The score is the weight of all positives."""
    trending: Ranked = field(default_factory=_nothing)
    """The score is the decayed weight as of the newest event."""
    seen_through: Mapping[int, int] = field(default_factory=dict)
    """Sequence of the last counted event, by partition."""

    def rankers(self, partition: int | None) -> Sequence[SharedList]:
        """Return the rankers, which are the same for all partitions."""
        return self._rankers

    @cached_property
    def _rankers(self) -> Sequence[SharedList]:
        orders = {POPULAR: self.popular, TRENDING: self.trending}
        return [
            SharedList(FAMILIES[strategy], order, self.seen_through)
            for strategy, order in orders.items()
        ]
