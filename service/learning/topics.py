"""Topics: the items with the largest factors in each component of the non-negative expert."""

import time
from typing import Any

import numpy as np

from core.online.model import OnlineModel
from core.online.tables import COUNT
from service.learning.state.rows import ItemRows
from service.store.connection import Client
from service.store.keys import PartitionKeys
from service.store.profiles.topics import TopicItem, write_topics

PERIOD_S = 5.0
"""Shortest time between two writes, in seconds."""
SHOWN = 20
"""Number of items listed for a component."""
LEAST_COUNT = 5
"""Least number of ratings of a listed item; with fewer, its factors are mostly random."""
CHEAP = 50_000
"""Largest number of items for which topics are computed even while events wait."""


class Topics:
    """Writes the topics at most every five seconds, if anything changed."""

    def __init__(
        self, model: OnlineModel, items: ItemRows, client: Client, keys: PartitionKeys
    ) -> None:
        self._columns = model.topic_columns()
        self._items, self._client, self._keys = items, client, keys
        self._noted = self._published = 0
        self._due = 0.0

    def note(self, watermark: int) -> None:
        """Note that events up to ``watermark`` were learned."""
        self._noted = watermark

    def publish(self, *, idle: bool) -> None:
        """Write the topics if they are due, and either cheap or the learner is idle."""
        if self._columns is None or self._noted == self._published:
            return
        if time.monotonic() < self._due or not (idle or len(self._items.here) <= CHEAP):
            return
        topics = self._topics(self._columns)
        write_topics(self._client, self._keys, {"sequence": self._noted, "topics": topics})
        self._published, self._due = self._noted, time.monotonic() + PERIOD_S

    def _topics(self, columns: slice) -> list[list[TopicItem]]:
        rows = self._items.table.rows
        known = np.flatnonzero(self._items.here & (rows[:, COUNT] >= LEAST_COUNT))
        factors = rows[known, columns]
        # a stable sort breaks ties by item number: the same state gives the same topics
        best = np.argsort(-factors, axis=0, kind="stable")[:SHOWN].T
        names = self._names(known[np.unique(best)])
        return [
            [
                {"item": names[int(known[i])], "strength": round(float(factors[i, component]), 4)}
                for i in order.tolist()
            ]
            for component, order in enumerate(best)
        ]

    def _names(self, numbers: np.ndarray[Any, np.dtype[np.int64]]) -> dict[int, str]:
        return dict(zip(numbers.tolist(), self._items.ids(numbers), strict=True))
