"""From checked feedback to the log: item numbers, partitions, rows, awaited predictions."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import NamedTuple

from msgspec import UNSET

from service.api.feedback.event_counts import EventCounts
from service.api.feedback.schemas import (
    Fault,
    Feedback,
    Learned,
    Rejected,
    Rules,
    Warned,
    Written,
    source_warning,
)
from service.api.feedback.sender import Sender
from service.api.figures import figure
from service.api.waiting import learned
from service.errors import Backlogged, InvalidEvent, KeysChanged, ServiceError, StoreRolledBack
from service.ids import sequence_token
from service.metrics.meters import Meters
from service.runtime.api import ApiRuntime
from service.store.catalogue.numbers import TooManyItems
from service.store.clock import now_ms
from service.store.identity.known import Basis
from service.store.log.append_queue import Row
from service.store.log.noted_ids import Placed
from service.store.partitions import partition_of

Events = list[tuple[int, Feedback]]
"""Events with their indexes in the request."""
PATIENCE_S = 30.0
"""Seconds that a stream waits for room in a full log before it gives up."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.5
"""Seconds between two tries to append to a full log."""


@dataclass
class Accepted:
    """Accepted rows by partition: ``indexes`` in the request, and the ``sequences`` of the last."""

    rejected: list[Rejected] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)
    indexes: dict[int, list[int]] = field(default_factory=dict)
    sequences: dict[int, int] = field(default_factory=dict)
    repeats: list[int] = field(default_factory=list)
    """The indexes of rows whose ids came lately before; others may be repeats, too."""

    @property
    def n(self) -> int:
        return sum(map(len, self.indexes.values()))

    def written(self) -> Written:
        written = Written(self.n, self.rejected, self.warnings, sequence_token(self.sequences))
        if self.repeats:
            written.repeats = self.repeats
        return written


class AcceptedOne(NamedTuple):
    """An event that is in the log."""

    token: str
    """The place in the order of events."""
    warnings: list[Warned]
    is_repeat: bool
    """Whether its id came lately before; it may be a repeat even if not."""


class Outcome(NamedTuple):
    """What became of rows that were waited for."""

    predictions: list[Learned]
    repeats: list[int]
    """The indexes of rows that had been learned before."""


class Refused(NamedTuple):
    """Events that the store refused, and why."""

    events: Events
    why: ServiceError


class _Patience:
    """How often events may be refused: once by what they rest on, for a time by a full log."""

    def __init__(self, seconds: float) -> None:
        self._until = asyncio.get_running_loop().time() + seconds
        self._pause, self._reconsidered = FIRST_PAUSE_S, False

    async def spend_on(self, why: ServiceError) -> None:
        """Return when it is worth trying again; raise the error if it is not."""
        if isinstance(why, Backlogged):
            if asyncio.get_running_loop().time() >= self._until:
                raise why
            await asyncio.sleep(self._pause)
            self._pause = min(2 * self._pause, LONGEST_PAUSE_S)
        elif self._reconsidered:
            raise why
        else:
            self._reconsidered = True


class Intake:
    """Parses and checks feedback, the first step of its way into the log; see ``AppendQueue``."""

    def __init__(
        self,
        runtime: ApiRuntime,
        counts: EventCounts | None = None,
        *,
        patience_s: float = PATIENCE_S,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        """``clock`` gives the time in ms of events that bring none."""
        self.patience_s, self._clock = patience_s, clock
        self.counts = counts or EventCounts(Meters())
        self.rules = Rules.of(runtime.settings, runtime.namespace.scale)
        self.partitions = runtime.namespace.partitions
        self.numbers = runtime.numbers
        self.append_queue = runtime.append_queue
        self.request_keys = runtime.request_keys
        self.known = runtime.known
        self._watch, self._changes = runtime.watch, runtime.changes

    async def accept_one(self, event: Feedback, sender: Sender) -> AcceptedOne:
        """Append an event; InvalidEvent for a fault."""
        try:
            done = await self._accept_one(event, sender)
        except ServiceError as error:
            self.counts.refused(error.code)
            raise
        self.counts.accepted()
        return done

    async def _accept_one(self, event: Feedback, sender: Sender) -> AcceptedOne:
        fault = self.rules.fault(event)
        if fault is not None:
            raise InvalidEvent(fault[1], code=fault[0])
        if sender.key is not None:
            await self.request_keys.check(sender.key, sender.producer, {0: event})
        try:
            return await self._append_one(event, sender)
        except (StoreRolledBack, KeysChanged) as error:
            await self.reconsider(sender, error)
        return await self._append_one(event, sender)

    async def reconsider(self, sender: Sender, error: ServiceError) -> None:
        """Look at what a write rests on after the store refused it.

        On return the store will take what it refused, numbered anew. StoreRolledBack says that it
        will not, Unauthorised and Forbidden that the sender may not write any more.
        """
        if isinstance(error, KeysChanged):
            await sender.renew()
        else:
            await self.examine()

    async def examine(self) -> None:
        """Look at the store after it turned out to be another; StoreRolledBack if it stays so."""
        await self._watch.examine()

    async def _append_one(self, event: Feedback, sender: Sender) -> AcceptedOne:
        # before the number is looked up: the store refuses a number that another one gave
        token = self.known.token
        number = self.numbers.known.get(event.item)
        if number is None:
            [number] = await self.numbers.numbers([event.item])
        digest = sender.digest(event.user, event.event_id, 0)
        row = self.rules.row(event, number, now_ms=self._clock(), digest=digest)
        partition = partition_of(event.user, self.partitions)
        basis = Basis(token, sender.keys)
        placed = await self.append_queue.submit(partition, (row,), basis, sender.request)
        warnings = _warnings(0, event, row)
        return AcceptedOne(f"{partition}:{placed.last}", warnings, bool(placed.repeats))

    async def accept(
        self,
        events: Sequence[Feedback | Fault],
        sender: Sender,
        *,
        awaited: bool = False,
        patience_s: float = 0.0,
    ) -> Accepted:
        """Append the valid events in their order; the others are ``rejected``.

        Events that find the log full wait ``patience_s`` seconds for room; then Backlogged.
        """
        with self.counts.all_or_none(len(events)):
            result = await self._accept(events, sender, awaited, patience_s)
        self.counts.accepted(result.n)
        for rejected in result.rejected:
            self.counts.refused(rejected.code)
        return result

    async def _accept(
        self,
        events: Sequence[Feedback | Fault],
        sender: Sender,
        awaited: bool,
        patience_s: float,
    ) -> Accepted:
        result = Accepted()
        good: list[tuple[int, Feedback]] = []
        for index, event in enumerate(events):
            fault = self.rules.fault(event) if isinstance(event, Feedback) else event
            if fault is None and isinstance(event, Feedback):
                good.append((index, event))
            elif fault is not None:
                result.rejected.append(Rejected(index, *fault))
        if good:
            if sender.key is not None:
                await self.request_keys.check(sender.key, sender.producer, dict(good))
            left = _Patience(patience_s)
            while refused := await self._append(good, sender, awaited, result):
                good = refused.events
                await left.spend_on(refused.why)
                if not isinstance(refused.why, Backlogged):
                    await self.reconsider(sender, refused.why)
        result.warnings.sort(key=lambda warned: warned.index)
        result.repeats.sort()
        return result

    async def _append(
        self, good: Events, sender: Sender, awaited: bool, result: Accepted
    ) -> Refused | None:
        """Append events; return those that the store refused because of what they rest on."""
        basis = Basis(self.known.token, sender.keys)
        try:
            numbers = await self.numbers.give(event.item for _, event in good)
        except StoreRolledBack as error:
            return Refused(good, error)
        now, chunks = self._clock(), dict[int, tuple[list[Row], Events]]()
        for index, event in good:
            if event.item not in numbers:
                result.rejected.append(Rejected(index, TooManyItems.code, self.numbers.exhausted))
                continue
            partition = partition_of(event.user, self.partitions)
            digest = sender.digest(event.user, event.event_id, index)
            row = self.rules.row(
                event, numbers[event.item], now_ms=now, digest=digest, awaited=awaited
            )
            rows, events = chunks.setdefault(partition, ([], []))
            rows.append(row)
            events.append((index, event))
        pending = [
            self.append_queue.submit(partition, rows, basis, sender.request)
            for partition, (rows, _) in chunks.items()
        ]
        ends = await asyncio.gather(*pending, return_exceptions=True)
        refused: Refused | None = None
        for (partition, (rows, events)), end in zip(chunks.items(), ends, strict=True):
            if isinstance(end, StoreRolledBack | KeysChanged | Backlogged):
                refused = Refused([*(refused.events if refused else ()), *events], end)
            elif isinstance(end, BaseException):
                raise end
            else:
                result.sequences[partition] = end.last
                result.indexes[partition] = [index for index, _ in events]
                result.repeats += [events[place][0] for place in end.repeats]
                for row, (index, event) in zip(rows, events, strict=True):
                    result.warnings += _warnings(index, event, row)
        return refused

    async def outcome(self, accepted: Accepted, timeout_ms: int) -> Outcome | None:
        """Wait until the rows are learned; return what became of them, None if too slow."""
        if not await learned(self._changes, accepted.sequences, timeout_ms):
            return None
        found: list[Learned] = []
        repeats: list[int] = []
        for partition, indexes in accepted.indexes.items():
            first = accepted.sequences[partition] - len(indexes) + 1
            sequences = range(first, first + len(indexes))
            answers = self._changes.answers(partition, sequences)
            repeats += compress(indexes, self._changes.repeats(partition, sequences))
            for index, answer in zip(indexes, answers, strict=True):
                if answer is not None:
                    found.append(Learned(index, *map(figure, answer)))
        return Outcome(sorted(found, key=lambda row: row.index), sorted(repeats))


def _warnings(index: int, event: Feedback, row: Row) -> list[Warned]:
    if event.rec_id is UNSET or row.source or (warning := source_warning(event)) is None:
        return []
    return [Warned(index, *warning)]


async def settled(pending: Sequence[asyncio.Future[Placed]]) -> list[int]:
    """Return the sequences of the last rows; raise the first error once all have ended.

    So no error is lost.
    """
    results = await asyncio.gather(*pending, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result.last for result in results if isinstance(result, Placed)]
