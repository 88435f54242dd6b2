"""Rank by transitions: the items that usually follow the latest ones, counted with every event."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.slate import Explanation
from core.stack.signals import SIGNALS
from core.transitions.successors import DECAY, Successors
from core.types import F32, I32
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.family import Family
from service.ranking.pool import Pool, Ranked, chosen
from service.ranking.ranker import ScoreRanker
from service.ranking.strategies import NEXT

LOG_OPENINGS = "log openings"
_NOTHING = np.float32(-np.inf)


class NextItems(ScoreRanker):
    """Ranks the items that followed the user's latest items most often, for all users together.

    One more signal says how often an item came at this point of a history that has just begun:
    what people take first depends on little else.
    """

    signals = (*SIGNALS, LOG_OPENINGS)

    def __init__(
        self, family: Family, successors: Successors, made_of: str, through: Mapping[int, int]
    ) -> None:
        super().__init__(family, family.strategy, through)
        self._successors, self._made_of = successors, made_of
        self.n_items = self.effort = successors.n_items

    @property
    def made_of(self) -> str:
        return self._made_of

    def knows(self, asker: Asker) -> bool:
        return any(map(self._successors.has, asker.preferences.latest.tolist()))

    def new_scores(self, asker: Asker) -> F32:
        scores = self._successors.scores(asker.preferences.latest, self.n_items)
        scores[scores == 0.0] = _NOTHING
        return scores

    def signals_of(self, asker: Asker, items: I32) -> F32:
        openings = self._successors.openings(asker.preferences.latest.size, items)
        return np.column_stack([super().signals_of(asker, items), np.log1p(openings)])

    def has(self, item: int) -> bool:
        return item < self.n_items and bool(self._successors.around(item, self.n_items).any())

    def similar(self, item: int, pool: Pool, n: int) -> Ranked:
        """Return the items that came soonest and most often after an item or before it."""
        scores = self._successors.around(item, self.n_items)
        scores[scores == 0.0] = _NOTHING
        scores[item] = _NOTHING
        return chosen(scores, pool, n)

    def explain(self, asker: Asker, items: I32) -> Explanation:
        latest, past = asker.preferences.latest, asker.preferences.within(self.n_items).item_ix
        shares = self._successors.shares(latest, items).astype(np.float64)
        parts = shares * DECAY ** np.arange(latest.size)[:, None]
        contribution = np.zeros((items.size, past.size))
        liked = np.isin(latest, past)
        contribution[:, np.searchsorted(past, latest[liked])] = parts[liked].T
        return Explanation(contribution, parts[~liked].sum(axis=0))


@dataclass(frozen=True, eq=False)
class NextState:
    """Counts of which item follows which, from the events of all partitions."""

    successors: Successors = field(default_factory=lambda: Successors.of([], now_ms=0.0))
    version: str = ""
    """Version of the counts; empty before anything was published."""
    seen_through: Mapping[int, int] = field(default_factory=dict)
    """Sequence of the last counted event, by partition."""

    def rankers(self, partition: int | None) -> Sequence[NextItems]:
        """Return the ranker for all users alike, and for posted histories."""
        if not self.version:
            return []
        return [NextItems(FAMILIES[NEXT], self.successors, self.version, self.seen_through)]
