"""Counters of positives for each item: in total, and decaying for trending items.

The learner and a rebuild count with the same code.
"""

from typing import Any

import numpy as np

from core.counters import Counters
from core.meaning import EventMeanings, Mask
from core.popularity import dated
from core.types import F32, F64, I64, U8
from service.learning.state.horizon import Horizon
from service.settings import Settings
from service.store.profiles.counters import Pieces, pieces
from service.store.profiles.histories import Records


class ItemCounters:
    """The counters in memory; each change returns the bytes that the commit writes."""

    def __init__(
        self,
        settings: Settings,
        meanings: EventMeanings,
        rows: F64,
        horizon: Horizon | None = None,
    ) -> None:
        self._meanings, self._horizon = meanings, horizon or Horizon()
        half_life_ms = settings.trending_half_life_h * 3_600_000
        self._counters = Counters(half_life_ms, dated(rows, self._horizon.until_ms))

    @property
    def rows(self) -> F64:
        """The rows of all items, not to be written."""
        return self._counters.rows

    def learn(self, item: I64, kind: U8, value: F32, time_ms: I64) -> Pieces:
        """Count n events in the order of the log, as of times within the horizon."""
        return self._add(item, self._meanings.evidence(kind, value), time_ms)

    def take_away(self, history: Records) -> Pieces:
        """Subtract what records of one user have added."""
        weight = -self._meanings.evidence(history["kind"], history["value"])
        time_ms = self._horizon.counted(history["time_ms"])
        return self._add(history["item"], weight, time_ms)

    def start_over(self, item: int) -> Pieces:
        """Reset the counters of a deleted item."""
        if item >= len(self.rows):
            return ()
        self.rows[item] = 0.0
        return pieces(self.rows, np.array([item]))

    def all(self) -> Pieces:
        """Return the bytes that write all counters."""
        return pieces(self.rows, np.flatnonzero(self.rows.any(axis=1)))

    def positive(self, kind: np.ndarray[Any, Any], value: np.ndarray[Any, Any]) -> Mask:
        """Mark the events that are counted, because they are evidence for their items."""
        return np.asarray(self._meanings.evidence(kind, value) > 0.0)

    def _add(self, item: np.ndarray[Any, Any], weight: F64, time_ms: I64) -> Pieces:
        counts = np.flatnonzero(weight)
        if not counts.size:
            return ()
        item = item[counts].astype(np.int64)
        self._counters.add(item, weight[counts], time_ms[counts])
        return pieces(self.rows, np.unique(item))
