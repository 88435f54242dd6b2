"""Rank by the signals of several rankers at once: a list of candidates, then one logit over them.

Candidates are the first items of each ranker and, where items may come again, those of the history.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from core.kernels.scan import Mask
from core.stack.choices import Choice
from core.stack.logit import Logit
from core.types import F32, I32
from service.ranking.asker import Asker, Computed
from service.ranking.pool import Pool, Ranked, ordered
from service.ranking.ranker import Ranker
from service.ranking.strategies import Strategy

HEADS, SHARED_HEADS = 100, 50
"""Candidates of each ranker, and of a list that is the same for everybody."""
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

    def taken(self, item: int, length: int) -> Choice:
        """Return the event in which this item was taken, after a history of this length."""
        at = int(np.searchsorted(self.items, item))
        listed = at < self.items.size and self.items[at] == item
        return Choice(self.signals, at if listed else -1, length)


class Stack(Struct, frozen=True, eq=False):
    """Several rankers, and the logit of their signals."""

    rankers: Sequence[Ranker]
    logit: Logit
    alone: Strategy | None = None
    """The ranker that answers alone, because it ranks better than the stack."""

    def best(self, asker: Asker, pool: Pool, n: int) -> Ranked:
        """Return the best n candidates with their probabilities among all candidates.

        The ranker that answers alone gives its own scores.
        """
        for ranker in self.rankers:
            if ranker.strategy == self.alone and ranker.knows(asker):
                return ranker.best(asker, pool, n).ranked
        found = candidates(self.rankers, asker, pool)
        likely = self.logit.probabilities(found.signals, asker.preferences.item_ix.size)
        return ordered(found.items, likely.astype(np.float32), n)


def signal_names(rankers: Sequence[Ranker]) -> list[str]:
    """Return the names of all signals, in the order of their columns."""
    own = [f"{ranker.strategy}: {name}" for ranker in rankers for name in ranker.signals]
    return [*own, *(f"history: {name}" for name in OF_HISTORY)]


def score_columns(rankers: Sequence[Ranker]) -> dict[Strategy, int]:
    """Return the column of each ranker's own score: its first signal."""
    widths = [len(ranker.signals) for ranker in rankers]
    first = np.concatenate([[0], np.cumsum(widths)])
    return {ranker.strategy: int(at) for ranker, at in zip(rankers, first, strict=False)}


def candidates(rankers: Sequence[Ranker], asker: Asker, pool: Pool) -> Candidates:
    """Return the candidates of some rankers for an asker, with all signals."""
    heads, made = [_of_history(asker, pool)], []
    for ranker in rankers:
        if ranker.family.for_everybody or ranker.knows(asker):
            n = SHARED_HEADS if ranker.family.for_everybody else HEADS
            listed = ranker.best(asker, pool, n)
            heads.append(listed.items)
            if listed.made is not None:
                made.append(listed.made)
    for result in made:
        asker = asker.having(result)
    items = np.unique(np.concatenate(heads)).astype(np.int32)
    columns = [ranker.signals_of(asker, items) for ranker in rankers]
    return Candidates(items, np.hstack([*columns, history_signals(asker, items)]), made)


def history_signals(asker: Asker, items: I32) -> F32:
    """Return the signals of the asker's history for some items, (m, 3)."""
    latest = asker.preferences.latest
    found = np.zeros((items.size, len(OF_HISTORY)), np.float32)
    for age, item in enumerate(latest.tolist()):
        at = np.searchsorted(items, item)
        if at < items.size and items[at] == item:
            found[at] = 1.0, age == 0, np.log1p(age)
    return found


def _of_history(asker: Asker, pool: Pool) -> I32:
    latest = np.unique(asker.preferences.latest)
    latest = latest[latest < pool.allowed.size]
    own = latest if pool.candidates is None else np.intersect1d(latest, pool.candidates)
    return Pool(pool.allowed, pool.excluded, own.astype(np.int32)).listed
