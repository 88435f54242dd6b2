"""Click-through: events with the id of a slate, counted by the source of the slate.

They are counted one by one in the order of the log, so the result does not depend on batches.
"""

from collections import OrderedDict
from collections.abc import Collection, Mapping

import numpy as np

from service.learning.backlog import Backlog
from service.store.log.codec import SOURCE_BYTES
from service.store.profiles.click_through import SourceCounts, in_context, is_in_context

MAX_SOURCES = 256
"""Number of sources in a partition; a new one replaces the one whose last event is oldest."""
MAX_CONTEXTS = 1_024
"""The same for sources in one context each."""


class ClickThrough:
    """The counts of a partition, by source in hex, and by source in each context."""

    def __init__(
        self, stored: Mapping[str, SourceCounts], *, max_sources: int = MAX_SOURCES
    ) -> None:
        placed = {name for name in stored if is_in_context(name)}
        self._sources = _Counts(stored, stored.keys() - placed, max_sources)
        self._contexts = _Counts(stored, placed, MAX_CONTEXTS)

    def count(self, backlog: Backlog, end: int) -> dict[str, SourceCounts | None]:
        """Count the events before ``end``; return the changed counts, None for dropped ones."""
        span = slice(backlog.at, end)
        sources, contexts = set[str](), set[str]()
        for at in np.flatnonzero((backlog.source[span] != 0) & (backlog.repeated[span] == 0)):
            position = backlog.at + int(at)
            source = int(backlog.source[position]).to_bytes(SOURCE_BYTES, "little").hex()
            event = int(backlog.sequence[position]), str(backlog.kind[position])
            sources |= self._sources.add(source, *event)
            for pair in backlog.contexts.get(position, ()):
                contexts |= self._contexts.add(in_context(source, pair), *event)
        return {name: self._sources.copy(name) for name in sources} | {
            name: self._contexts.copy(name) for name in contexts
        }


class _Counts:
    """Counts by name; a new name displaces the one whose last event is oldest."""

    def __init__(self, stored: Mapping[str, SourceCounts], names: Collection[str], most: int):
        oldest_first = sorted(names, key=lambda name: (stored[name].last, name))
        self._counts = OrderedDict((name, stored[name]) for name in oldest_first)
        self._most = most

    def add(self, name: str, sequence: int, kind: str) -> set[str]:
        """Count an event; return the names whose counts have changed."""
        changed = {name}
        if name not in self._counts and len(self._counts) >= self._most:
            changed.add(self._counts.popitem(last=False)[0])
        counts = self._counts.setdefault(name, SourceCounts())
        counts.last = sequence
        counts.events[kind] = counts.events.get(kind, 0) + 1
        self._counts.move_to_end(name)
        return changed

    def copy(self, name: str) -> SourceCounts | None:
        """Return a copy of the counts: more events may be counted before the commit is packed."""
        counts = self._counts.get(name)
        return None if counts is None else SourceCounts(counts.last, dict(counts.events))
