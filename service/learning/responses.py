"""What users made of the slates: events that carry a recommendation's id, counted by what made the slate.

Counted event by event, in their order: where batches end changes nothing.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from service.learning.backlog import Backlog
from service.store.log.codec import SOURCE_BYTES

MAX_SOURCES = 256
"""Of a partition; when another one comes, the one that was heard of longest ago is forgotten."""


@dataclass
class _Counted:
    last: int = 0
    """Sequence of the newest event."""
    events: dict[str, int] = field(default_factory=dict)
    """By kind code."""


class Responses:
    """The counts of a partition, by source (see ``rec_ids``) in hex."""

    def __init__(self, stored: Mapping[bytes, bytes]) -> None:
        self._counted = {
            name.decode(): _Counted(**json.loads(packed)) for name, packed in stored.items()
        }

    def count(self, backlog: Backlog, end: int) -> dict[str, bytes | None]:
        """Count the events up to ``end``; returns what becomes of each changed source, None for a forgotten one."""
        own = slice(backlog.at, end)
        changed: set[str] = set()
        for at in np.flatnonzero((backlog.source[own] != 0) & (backlog.repeated[own] == 0)):
            place = backlog.at + int(at)
            name = int(backlog.source[place]).to_bytes(SOURCE_BYTES, "little").hex()
            changed |= {name, *self._make_room(name)}
            counted = self._counted.setdefault(name, _Counted())
            counted.last = int(backlog.sequence[place])
            kind = str(backlog.kind[place])
            counted.events[kind] = counted.events.get(kind, 0) + 1
        return {name: self._packed(name) for name in changed}

    def _make_room(self, name: str) -> list[str]:
        if name in self._counted or len(self._counted) < MAX_SOURCES:
            return []
        oldest = min(self._counted, key=lambda source: self._counted[source].last)
        del self._counted[oldest]
        return [oldest]

    def _packed(self, name: str) -> bytes | None:
        counted = self._counted.get(name)
        return None if counted is None else json.dumps(vars(counted)).encode()
