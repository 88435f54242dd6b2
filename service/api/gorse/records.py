"""The feedback records of Gorse: one for each (type, user, item), made of the events of the pair.

An event adds its value to the record, or replaces it (``PUT``). The record has the earliest time
since then. So nothing is read before it is written, and no write of two is lost.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from service.api.gorse.kinds import REPLACING, WRITTEN, Types
from service.api.gorse.times import written
from service.runtime.api import ApiRuntime
from service.store.catalogue.numbers import ItemNumbers
from service.store.clock import now_ms
from service.store.log.append_queue import Row
from service.store.log.codec import HAS_CONTEXT, MOVED, packed_context
from service.store.profiles.history_record import sequences

CLOCK_ERROR_MS = 5_000
"""How far ahead of now a record may be dated and be read."""


@dataclass(frozen=True)
class Record:
    """A feedback record."""

    kind: str
    """Its feedback type."""
    user: str
    item: str
    value: float
    time_ms: int
    updated_ms: int

    def then(self, later: "Record") -> "Record":
        """Return the record after one more event."""
        first, last = sorted((self.time_ms, later.time_ms))
        value = self.value + later.value
        return Record(self.kind, self.user, self.item, value, first, max(self.updated_ms, last))

    def shown(self) -> dict[str, Any]:
        """Return the record as Gorse writes it."""
        return {
            "FeedbackType": self.kind,
            "UserId": self.user,
            "ItemId": self.item,
            "Value": self.value,
            "Timestamp": written(self.time_ms),
            "Comment": "",
            "Updated": written(self.updated_ms),
            "Labels": None,
        }


@dataclass(frozen=True)
class PastEvents:
    """The events of a user, each with its type."""

    events: list[tuple[Record, bool, Row]]
    """What each says alone, whether it replaces, and how the log would have it."""

    def records(self) -> list[Record]:
        """Return the records, ordered by the bytes of type and item."""
        until = now_ms() + CLOCK_ERROR_MS
        found: dict[tuple[str, str], Record] = {}
        for one, replaces, _ in self.events:
            if one.time_ms > until:
                continue
            key = (one.kind, one.item)
            before = None if replaces else found.get(key)
            found[key] = one if before is None else before.then(one)
        return [found[key] for key in sorted(found, key=lambda key: [*map(str.encode, key)])]

    def kinds(self) -> set[str]:
        """Return the types of the events, those that are dated ahead too."""
        return {one.kind for one, _, _ in self.events}

    def rows_besides(self, kind: str) -> list[Row]:
        """Return the events that are of other types, to be learned again."""
        return [row for one, _, row in self.events if one.kind != kind]


async def past_events(
    runtime: ApiRuntime, types: Types, user: str, item: int | None = None
) -> PastEvents:
    """Return the learned events of a user, in the order of events; only those of ``item``."""
    history, contexts = await runtime.profiles.placed_history(user)
    if item is not None:
        history = history[history["item"] == item]
    names = await _ids(runtime.numbers, history["item"].tolist())
    columns = zip(
        names,
        history["item"].tolist(),
        history["kind"].tolist(),
        history["value"],
        history["time_ms"].tolist(),
        sequences(history).tolist(),
        strict=True,
    )
    events = []
    for named, number, code, value, time_ms, sequence in columns:
        context = contexts.get(sequence, {})
        # the shortest number that is the same float32: what was sent
        exact = float(str(value))
        one = Record(types.type_of(code, context), user, named, exact, time_ms, time_ms)
        packed = packed_context(dict(context))
        # its context was counted when it was new
        flags = MOVED | (HAS_CONTEXT if packed else 0)
        row = Row(user, number, exact, time_ms, code, flags, b"", context=packed)
        events.append((one, context.get(WRITTEN) == REPLACING, row))
    return PastEvents(events)


async def _ids(numbers: ItemNumbers, wanted: Iterable[int]) -> list[str]:
    named = [*wanted]
    return await numbers.ids(named) if named else []
