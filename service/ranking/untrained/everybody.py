"""Lists that are the same for everybody: popular items, trending items and the latest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from core.types import F32, I32, I64
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.family import Family
from service.ranking.pool import Pool, Ranked, chosen, first
from service.ranking.ranker import Listed, Ranker
from service.ranking.strategies import LATEST, POPULAR, TRENDING

DAY_MS = 86_400_000
UNDATED = 1e-6
"""Score of an item without a time, for each item before it."""


def _nothing() -> Ranked:
    return np.empty(0, np.int32), np.empty(0, np.float32)


class SharedList(Ranker):
    """One order of all items; items without events are ranked last, by item number."""

    signals = ("log score",)

    def __init__(self, family: Family, order: Ranked, seen_through: Mapping[int, int]) -> None:
        super().__init__(family, family.strategy, seen_through)
        items, scores = order
        self.n_items = self.effort = int(items.max(initial=-1)) + 1
        by_number = np.zeros(self.n_items, np.float32)
        by_number[items] = scores
        without = np.ones(self.n_items, np.bool_)
        without[items] = False
        everything = np.concatenate([items, np.flatnonzero(without).astype(np.int32)])
        self._by_number = by_number
        """The score of each item."""
        self._order: Ranked = everything, by_number[everything]
        """All items, best first."""
        liked = scores > 0.0
        self._liked: Ranked = items[liked], scores[liked]

    def knows(self, asker: Asker) -> bool:
        return False

    def best(self, asker: Asker, pool: Pool, n: int) -> Listed:
        if pool.candidates is not None:
            return Listed(*chosen(_filled(self._by_number, pool.allowed.size), pool, n))
        return Listed(*first(self._reaching(pool.allowed.size), pool, n))

    def mixing_list(self, asker: Asker, pool: Pool, n: int) -> Listed:
        """Return the best n items that somebody liked."""
        if pool.candidates is None:
            return Listed(*first(self._liked, pool, n))
        item, score, _ = self.best(asker, pool, n)
        return Listed(item[score > 0.0], score[score > 0.0])

    def scores(self, asker: Asker) -> F32:
        return self._by_number

    def signals_of(self, asker: Asker, items: I32) -> F32:
        counted = np.maximum(self.scores_of(asker, items), 0.0)
        return np.log1p(counted)[:, None]

    def _reaching(self, n_items: int) -> Ranked:
        """Return the order, extended to at least ``n_items`` items."""
        items, scores = order = self._order
        if items.size < n_items:
            more = np.arange(items.size, n_items, dtype=np.int32)
            # kept: the longer order also serves smaller pools
            self._order = order = np.concatenate([items, more]), _filled(scores, n_items)
        return order


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


@dataclass(frozen=True, eq=False)
class Latest:
    """The items in the order in which they came, the latest first: the state of this family."""

    order: Ranked = field(default_factory=_nothing)
    """All items; the score is when an item came, in days since 1970, near 0 if that is unknown."""

    @classmethod
    def of(cls, since: I64) -> "Latest":
        """Return the order of items by the times since when they are there, (n,) in ms.

        Of items without a time, which is negative, the one with the highest number is the latest.
        """
        numbers = np.arange(since.size)
        days = np.where(since >= 0, since / DAY_MS, UNDATED * numbers)
        order = np.lexsort((numbers, -days)).astype(np.int32)
        return cls((order, days[order].astype(np.float32)))

    def rankers(self, partition: int | None) -> Sequence[SharedList]:
        """Return the ranker, which is the same for all partitions."""
        return [self._ranker]

    @cached_property
    def _ranker(self) -> SharedList:
        return SharedList(FAMILIES[LATEST], self.order, {})


def _filled(scores: F32, n: int) -> F32:
    """Return the first n scores, 0 where there are fewer."""
    return np.pad(scores[:n], (0, max(n - scores.size, 0)))
