"""Rank by the signals of several rankers at once: a list of candidates, then one logit over them.

Candidates are the first items of each ranker and, where items may come again, those of the history.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from core.kernels import candidates as kernels
from core.kernels.scan import Mask
from core.stack.choices import Choice
from core.stack.logit import Logit, probabilities
from core.stack.sums import by_ranker
from core.types import F32, F64, I32, I64
from service.ranking.asker import Asker, Computed
from service.ranking.keeping import Basis, Made
from service.ranking.newcomers import NOBODY_NEW, Newcomers
from service.ranking.pool import HEAD, NOTHING, Head, Pool, Ranked, all_among
from service.ranking.ranker import Listed, Ranker
from service.ranking.strategies import Strategy, mixture_at

HEADS, SHARED_HEADS = 100, 50
"""Candidates of each ranker, and of a list that is the same for everybody."""
LEAST_LEFT = 0.5
"""Least probability of the items of a head that may still be shown."""
OF_HISTORY = ("seen", "last", "log age")
"""Signals of the history: whether it has the item, as the last one, and how many items ago."""


class Candidates(Struct, frozen=True, eq=False):
    """The items that a stack orders for an asker."""

    items: I32
    """(m,), ascending."""
    signals: F32
    """(m, d), named by ``signal_names``."""
    made: Sequence[Computed] = ()
    """Results of the rankers that a cache may keep."""

    def only(self, kept: Mask) -> "Candidates":
        """Return the candidates that a mask (m,) marks."""
        return Candidates(self.items[kept], self.signals[kept], self.made)

    def of(
        self,
        every: Sequence[Ranker],
        rankers: Sequence[Ranker],
        lists: Mapping[Strategy, Listed],
        asker: Asker,
        pool: Pool,
    ) -> "Candidates":
        """Return those that some of the rankers name, with the signals of these rankers."""
        heads = _heads(rankers, lists, asker, pool)
        rows = np.flatnonzero(np.isin(self.items, heads, assume_unique=True))
        names = {name: at for at, name in enumerate(signal_names(every))}
        columns = np.array([names[name] for name in signal_names(rankers)], np.intp)
        # `[:, columns]` would lay the rows out column by column, for which no kernel is compiled
        return Candidates(self.items[rows], self.signals[np.ix_(rows, columns)], self.made)

    def taken(self, item: int, length: int) -> Choice:
        """Return the event in which this item was taken, after a history of this length."""
        at = int(np.searchsorted(self.items, item))
        listed = at < self.items.size and self.items[at] == item
        return Choice(self.signals, at if listed else -1, length)


class StackHead(Head, frozen=True, eq=False):
    """The best candidates of a stack, best first, with their probabilities among all of them."""

    loudest: I32
    """Index of the ranker that speaks most for each item."""
    made: Made

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.loudest.nbytes

    def open_part(self, allowed: Mask) -> "StackHead | None":
        """Return the items that may be shown, which share the probability of the others.

        None: the others had more than half of it.
        """
        kept = np.zeros(self.items.size, np.bool_)
        within = self.items < allowed.size
        kept[within] = allowed[self.items[within]]
        left = 1.0 - float(self.scores[~kept].sum())
        if left < LEAST_LEFT:
            return None
        scores = (self.scores[kept] / left).astype(np.float32)
        return replace(self, items=self.items[kept], scores=scores, loudest=self.loudest[kept])

    def begin(self, n: int) -> "StackHead | None":
        """Return the best n; None if some lie below the head."""
        if n > self.items.size and not self.whole:
            return None
        parts = self.items[:n], self.scores[:n], self.loudest[:n]
        return replace(self, items=parts[0], scores=parts[1], loudest=parts[2])

    def first(self, pool: Pool, n: int) -> "StackHead | None":
        """Return the best n that a pool has; None if some may lie below the head."""
        ranked = self.best(pool, n)
        if ranked is None:
            return None
        items, scores = ranked
        order = np.argsort(self.items)
        at = order[np.searchsorted(self.items, items, sorter=order)]
        return replace(self, items=items, scores=scores, loudest=self.loudest[at])


class StackList(NamedTuple):
    """A list of a stack."""

    head: StackHead
    """The best candidates."""
    made: Sequence[Computed]
    """Results that a cache may keep."""
    pool: Pool
    """What the candidates were chosen from."""
    candidates: Candidates | None
    """The candidates; None: the list comes from a cached head."""


class Stack(Struct, frozen=True, eq=False):
    """Several rankers, and the logit of their signals."""

    rankers: Sequence[Ranker]
    logit: Logit
    alone: Strategy | None = None
    """The ranker that answers alone, because it ranks better than the stack."""

    basis: Basis = msgspec.field(default_factory=Basis.alone)
    """Decides for how long a cached head is shown again."""
    newcomers: Newcomers = NOBODY_NEW
    """New items, which are ranked as their look-alikes are."""

    def listed(self, asker: Asker, pool: Pool, n: int) -> "StackList":
        """Return the best n candidates, and results that a cache may keep."""
        if not self._may_use_heads(asker, pool, n):
            choice = candidates(self.rankers, asker, pool, n)
            return StackList(self._ranked(choice, asker, pool, n), choice.made, pool, choice)
        name = self._head_name(asker)
        head = asker.head(name, self.version)
        made: Sequence[Computed] = ()
        if head is not None and asker.warmed.get(name) is head:
            # from now on it is cached as if it had been made now
            made = [Computed(name, head.version, head=head)]
        whole, chosen = replace(pool, excluded=asker.preferences.seen), None
        if isinstance(head, StackHead):
            head = self._standing(head, pool)
        if not isinstance(head, StackHead):
            # heads of the rankers would be needed only if this one were not
            chosen = candidates(self.rankers, replace(asker, heads=None), whole)
            head = self._ranked(chosen, asker, whole, HEAD)
            head = replace(head, made=head.made.waiting(head.items))
            made = [*chosen.made, Computed(name, head.version, head=head)]
        as_it_is = pool.excluded is asker.preferences.seen
        found = head.begin(n) if as_it_is else head.first(pool, n)
        if found is None:
            # more items are left out than the head can spare
            choice = candidates(self.rankers, asker, pool, n)
            return StackList(self._ranked(choice, asker, pool, n), made, pool, choice)
        return StackList(found, made, whole, chosen)

    def _may_use_heads(self, asker: Asker, pool: Pool, n: int) -> bool:
        # a cached head stands until the history changes, whatever features come
        by_features = any(ranker.version in asker.features for ranker in self.rankers)
        usual = not by_features and pool.reopened is not None
        return usual and asker.may_use_heads(pool, n)

    def _head_name(self, asker: Asker) -> Strategy:
        """Return the name of the head in a cache: each context has its own."""
        places = [ranker.place(asker) for ranker in self.rankers]
        return mixture_at(";".join(place for place in places if place))

    def _standing(self, head: StackHead, pool: Pool) -> StackHead | None:
        """Return what a cached head may still answer; None: it must be made again."""
        made = head.made
        if not made.stands(self.basis, self.newcomers.version, pool.reopened, pool.time_ms):
            return None
        if all_among(head.items, pool.allowed):
            return head
        return head.open_part(pool.allowed) if made.is_young(pool.time_ms) else None

    @property
    def version(self) -> str:
        """Return the version of a cached head: of the models and the rankers."""
        names = ",".join([ranker.strategy for ranker in self.rankers])
        return f"{self.basis.models}:{names}"

    def order(self, found: Candidates, length: int) -> I32:
        """Return the candidates, best first."""
        z, _ = self.added_up(found, length)
        return found.items[_order(z)]

    def added_up(self, found: Candidates, length: int) -> tuple[F32, F32]:
        """Return z of each candidate, and the part of each ranker in it."""
        return by_ranker(self.logit, found.signals, length, columns_of(self.rankers))

    def _ranked(self, found: Candidates, asker: Asker, pool: Pool, n: int) -> StackHead:
        own, parts = self.added_up(found, asker.preferences.item_ix.size)
        items, z = self.newcomers.joined(found.items, own, pool)
        order = _order(z)[:n]
        likely = probabilities(z)
        made = Made(self.basis, pool.time_ms, self.newcomers.version, pool.reopened)
        return StackHead(
            version=self.version,
            items=items[order],
            scores=likely[order].astype(np.float32),
            whole=items.size < SHARED_HEADS,
            loudest=self._loudest(found, parts, items[order]),
            made=made,
        )

    def _loudest(self, found: Candidates, parts: F32, items: I32) -> I32:
        """Return which ranker adds most to each item; the one after them for a new item."""
        loudest = np.full(items.size, len(self.rankers), np.int32)
        if found.items.size:
            at = np.minimum(np.searchsorted(found.items, items), found.items.size - 1)
            own = found.items[at] == items
            loudest[own] = parts[at[own]].argmax(axis=1)
        return loudest

    def best(self, asker: Asker, pool: Pool, n: int) -> Ranked:
        """Return the best n candidates with their probabilities among all candidates.

        The ranker that answers alone gives its own scores.
        """
        for ranker in self.rankers:
            if ranker.strategy == self.alone and ranker.knows(asker):
                return ranker.best(asker, pool, n).ranked
        found = self._ranked(candidates(self.rankers, asker, pool, n), asker, pool, n)
        return found.items, found.scores


def signal_names(rankers: Sequence[Ranker]) -> list[str]:
    """Return the names of all signals, in the order of their columns."""
    own = [f"{ranker.strategy}: {name}" for ranker in rankers for name in ranker.signals]
    return [*own, *(f"history: {name}" for name in OF_HISTORY)]


def columns_of(rankers: Sequence[Ranker]) -> I64:
    """Return the first column of each ranker's signals, and the number of all columns."""
    ends = accumulate((len(ranker.signals) for ranker in rankers), initial=0)
    return np.fromiter(ends, np.int64, len(rankers) + 1)


def _order(z: F32 | F64) -> I64:
    """Return the rows of candidates, best first; of equal ones the lower item number."""
    return np.argsort(-z, kind="stable")


def score_columns(rankers: Sequence[Ranker]) -> dict[Strategy, int]:
    """Return the column of each ranker's own score: its first signal."""
    first = columns_of(rankers)[:-1].tolist()
    return {ranker.strategy: at for ranker, at in zip(rankers, first, strict=True)}


def candidates(rankers: Sequence[Ranker], asker: Asker, pool: Pool, n: int = 0) -> Candidates:
    """Return the candidates of some rankers for an asker, with all signals.

    A long list needs more of them: each ranker names at least n, if it has so many.
    """
    lists = {
        ranker.strategy: ranker.mixing_list(asker, pool, heads_of(ranker, n))
        for ranker in rankers
        if ranker.family.for_everybody or ranker.knows(asker)
    }
    return candidates_of(rankers, lists, asker, pool, n)


def heads_of(ranker: Ranker, n: int = 0) -> int:
    """Return the number of candidates that a ranker names for a list of n items."""
    usual = SHARED_HEADS if ranker.family.for_everybody else HEADS
    # the same candidates for all usual lengths, so that short pages continue each other
    return n if n > HEADS else usual


def candidates_of(
    rankers: Sequence[Ranker],
    lists: Mapping[Strategy, Listed],
    asker: Asker,
    pool: Pool,
    n: int = 0,
) -> Candidates:
    """Return the candidates in the lists of those rankers that have one, with all signals."""
    made = [listed.made for listed in lists.values() if listed.made is not None]
    for result in made:
        asker = asker.having(result)
    items = _heads(rankers, lists, asker, pool, n)
    columns = [ranker.signals_of(asker, items) for ranker in rankers]
    return Candidates(items, np.hstack([*columns, history_signals(asker, items)]), made)


def _heads(
    rankers: Sequence[Ranker],
    lists: Mapping[Strategy, Listed],
    asker: Asker,
    pool: Pool,
    n: int = 0,
) -> I32:
    heads = [
        lists[ranker.strategy].items[: heads_of(ranker, n)]
        for ranker in rankers
        if ranker.strategy in lists
    ]
    named, latest = np.concatenate([NOTHING, *heads]), asker.preferences.latest
    if pool.candidates is not None:
        latest = latest[np.isin(latest, pool.candidates)]
    found = np.empty(named.size + latest.size, np.int32)
    return found[: kernels.gather(named, latest, pool.excluded, pool.allowed, found)]


def history_signals(asker: Asker, items: I32) -> F32:
    """Return the signals of the asker's history for some items, (m, 3)."""
    latest, found = asker.preferences.latest, np.zeros((items.size, len(OF_HISTORY)), np.float32)
    if not items.size:
        return found
    at = np.minimum(np.searchsorted(items, latest), items.size - 1)
    # oldest first: of an item that came twice, the newest counts
    for age in np.flatnonzero(items[at] == latest)[::-1].tolist():
        found[at[age]] = 1.0, age == 0, np.log1p(age)
    return found
