"""Click-through: events with the id of a slate, counted by the source of the slate.

Events that say where they happened are counted by that as well, with and without a slate. Those
whose slate belongs to an arm of an experiment are counted by the arm and the bucket of the user.

They are counted one by one in the order of the log, so the result does not depend on batches.
"""

from collections import OrderedDict
from collections.abc import Collection, Mapping
from functools import lru_cache

import numpy as np

from service.arms import BUCKETS
from service.learning.backlog import Backlog
from service.store.experiments import MOST_ARMS
from service.store.log.codec import HAS_CONTEXT, MOVED, SOURCE_BYTES
from service.store.profiles.click_through import (
    ALL,
    SourceCounts,
    in_context,
    is_in_context,
    is_of_all,
    is_of_arm,
)

MAX_SOURCES = 256
"""Number of sources in a partition; a new one replaces the one whose last event is oldest."""
MAX_CONTEXTS = 1_024
"""The same for sources in one context each, and for all events in one context each."""
MAX_ARM_BUCKETS = 8 * MOST_ARMS * BUCKETS
"""The same for buckets of the users of an arm: eight experiments with as many arms as possible."""


class ClickThrough:
    """The counts of a partition: by source in hex, in each context too, by context, by arm."""

    def __init__(
        self, stored: Mapping[str, SourceCounts], *, max_sources: int = MAX_SOURCES
    ) -> None:
        arms = {name for name in stored if is_of_arm(name)}
        placed = {name for name in stored if is_in_context(name)}
        everywhere = {name for name in placed if is_of_all(name)}
        self._sources = _Counts(stored, stored.keys() - placed - arms, max_sources)
        self._contexts = _Counts(stored, placed - everywhere, MAX_CONTEXTS)
        self._all = _Counts(stored, everywhere, MAX_CONTEXTS)
        self._arms = _Counts(stored, arms, MAX_ARM_BUCKETS)

    def count(self, backlog: Backlog, end: int) -> dict[str, SourceCounts | None]:
        """Count the events before ``end``; return the changed counts, None for dropped ones."""
        span = slice(backlog.at, end)
        sources, contexts = set[str](), set[str]()
        changed = self._count_all(backlog, end)
        for at in np.flatnonzero((backlog.source[span] != 0) & (backlog.repeated[span] == 0)):
            position = backlog.at + int(at)
            source = int(backlog.source[position]).to_bytes(SOURCE_BYTES, "little").hex()
            event = int(backlog.sequence[position]), str(backlog.kind[position])
            sources |= self._sources.add(source, *event)
            for pair in _pairs(backlog.contexts.get(position, b"")):
                contexts |= self._contexts.add(in_context(source, pair), *event)
        changed |= {name: self._sources.copy(name) for name in sources}
        return changed | {name: self._contexts.copy(name) for name in contexts}

    def _count_all(self, backlog: Backlog, end: int) -> dict[str, SourceCounts | None]:
        """Count the events that say where they happened, whether they name a slate or not.

        An arm is said likewise.
        """
        names, arms = set[str](), set[str]()
        span = slice(backlog.at, end)
        new = (backlog.repeated[span] == 0) & (backlog.flags[span] & MOVED == 0)
        placed = new & (backlog.flags[span] & HAS_CONTEXT != 0)
        for position in (backlog.at + np.flatnonzero(placed)).tolist():
            event = int(backlog.sequence[position]), str(backlog.kind[position])
            for pair in _pairs(backlog.contexts.get(position, b"")):
                names |= self._all.add(in_context(ALL, pair), *event)
            if arm := backlog.arms.get(position):
                arms |= self._arms.add(arm, *event)
        changed = {name: self._all.copy(name) for name in names}
        return changed | {name: self._arms.copy(name) for name in arms}


@lru_cache(maxsize=4_096)
def _pairs(context: bytes) -> list[str]:
    """Return where an event happened, as `name=text` each."""
    return context.decode(errors="replace").split("\n") if context else []


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
