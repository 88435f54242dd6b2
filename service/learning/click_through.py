"""Click-through: events with the id of a slate, counted by the source of the slate.

They are counted one by one in the order of the log, so the result does not depend on batches.
"""

from collections.abc import Mapping

import numpy as np

from service.learning.backlog import Backlog
from service.store.log.codec import SOURCE_BYTES
from service.store.profiles.click_through import SourceCounts

MAX_SOURCES = 256
"""Number of sources in a partition; a new one replaces the one whose last event is oldest."""


class ClickThrough:
    """The counts of a partition, by source in hex."""

    def __init__(
        self, stored: Mapping[str, SourceCounts], *, max_sources: int = MAX_SOURCES
    ) -> None:
        self._counts = dict(stored)
        self._max_sources = max_sources

    def count(self, backlog: Backlog, end: int) -> dict[str, SourceCounts | None]:
        """Count the events before ``end``; return the changed counts, None for a dropped source."""
        span = slice(backlog.at, end)
        changed: set[str] = set()
        for at in np.flatnonzero((backlog.source[span] != 0) & (backlog.repeated[span] == 0)):
            position = backlog.at + int(at)
            name = int(backlog.source[position]).to_bytes(SOURCE_BYTES, "little").hex()
            changed |= {name, *self._make_room(name)}
            counts = self._counts.setdefault(name, SourceCounts())
            counts.last = int(backlog.sequence[position])
            kind = str(backlog.kind[position])
            counts.events[kind] = counts.events.get(kind, 0) + 1
        return {name: self._copy(name) for name in changed}

    def _make_room(self, name: str) -> list[str]:
        if name in self._counts or len(self._counts) < self._max_sources:
            return []
        oldest = min(self._counts, key=lambda source: self._counts[source].last)
        del self._counts[oldest]
        return [oldest]

    def _copy(self, name: str) -> SourceCounts | None:
        """Return a copy of the counts: more events may be counted before the commit is packed."""
        counts = self._counts.get(name)
        return None if counts is None else SourceCounts(counts.last, dict(counts.events))
