"""A stream of feedback: blocks of lines are decoded at once and become one log entry each.

A block with a fault is read again line by line. A block is appended while the next one is decoded.
Nothing more is read while the log is full: memory is bounded, and a slow learner slows the sender.
"""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET
from starlette.types import Receive

from service.api.feedback.columns import entry, good
from service.api.feedback.intake import FIRST_PAUSE_S, LONGEST_PAUSE_S, Intake, settled
from service.api.feedback.schemas import (
    DECODE_ERRORS,
    Fault,
    Feedback,
    Rejected,
    Warned,
    decode_fault,
    decode_lines,
    decode_one,
    source_warning,
)
from service.api.feedback.sender import Sender
from service.errors import Backlogged, KeysChanged, StoreRolledBack
from service.http.lines import BodyLines, LineBlock
from service.ids import sequence_token
from service.settings import Settings
from service.store.catalogue.numbers import TooManyItems
from service.store.identity.known import Basis
from service.store.log.codec import (
    SOURCE_BYTES,
    Entry,
    encode,
)
from service.store.log.noted_ids import Placed
from service.store.partitions import partition_of

BLOCK_BYTES = 512 << 10
"""Bytes that are decoded at once; other requests wait for that long."""
MAX_REJECTED = 1_000
"""Most rejections that the summary lists, and most warnings; the others are only counted."""


class RejectedLine(Rejected):
    """A line that was not accepted; ``line`` counts from 1, as editors do."""

    line: int
    """The number of the line, from 1, as editors count."""


class WarnedLine(Warned):
    """A line that was accepted although something in it has no effect."""

    line: int
    """The number of the line, from 1, as editors count."""


class Uploaded(msgspec.Struct):
    """The result of a stream, with the first 1 000 rejected lines and warnings."""

    accepted: int
    """Lines that are stored."""
    rejected: list[RejectedLine]
    """The first 1 000 lines that are rejected, and why."""
    rejected_total: int
    """How many lines are not stored."""
    warnings: list[WarnedLine]
    """The first 1 000 lines that are stored although something in them has no effect."""
    warnings_total: int
    """How many lines have warnings."""
    lines: int
    """Lines of the body, empty ones included."""
    sequence: str
    """The place of the rows in the order of events."""


class Upload:
    """One stream, from its first byte to its summary."""

    def __init__(self, intake: Intake, settings: Settings, sender: Sender) -> None:
        self._intake = intake
        self._settings = settings
        self._sender, self._unchecked_key = sender, sender.key
        self._summary = Uploaded(
            accepted=0,
            rejected=[],
            rejected_total=0,
            warnings=[],
            warnings_total=0,
            lines=0,
            sequence="",
        )
        self._sequences: dict[int, int] = {}
        self._under_way: asyncio.Task[None] | None = None

    def summary(self) -> Uploaded:
        """Return what is safe so far."""
        self._summary.sequence = sequence_token(self._sequences)
        return self._summary

    async def run(self, receive: Receive) -> None:
        """Read the body to its end; Backlogged if the log stays full."""
        lines = BodyLines(
            receive, block_bytes=BLOCK_BYTES, max_line_bytes=self._settings.max_line_bytes
        )
        try:
            async for block in lines.blocks():
                await self._take(block)
        finally:
            await self._appended()

    async def _take(self, block: LineBlock) -> None:
        self._summary.lines += block.n
        indexes, events = self._decode(block)
        if self._unchecked_key is not None and events:
            rows = dict(zip(indexes, events, strict=True))
            producer = self._sender.producer
            await self._intake.request_keys.check(self._unchecked_key, producer, rows)
            self._unchecked_key = None
        items = dict.fromkeys([event.item for event in events])
        token, numbers = await self._numbers(items)
        if len(numbers) < len(items):
            indexes, events = self._numbered(indexes, events, numbers)
        shares = self._shares(indexes, events) if events else []
        entries = [self._entry(share, numbers) for share in shares]
        named = len(events) - [event.rec_id for event in events].count(UNSET)
        if SOURCE_BYTES * named > sum(len(one.sources) for one in entries):
            self._warn(indexes, events)
        packed = [encode(one) for one in entries]
        await self._appended()
        # in the background, but one at a time: the order of the lines is the order of the log
        self._under_way = asyncio.create_task(self._append(shares, packed, token))

    async def _numbers(self, items: Iterable[str]) -> tuple[str, dict[str, int]]:
        """Return the numbers of items, and the token of the store that gave them."""
        intake = self._intake
        try:
            return intake.known.token, await intake.numbers.give(items)
        except StoreRolledBack:
            await intake.examine()
        return intake.known.token, await intake.numbers.give(items)

    async def _appended(self) -> None:
        if self._under_way is not None:
            under_way, self._under_way = self._under_way, None
            await under_way

    async def _append(self, shares: list["_Share"], packed: list[bytes], token: str) -> None:
        pairs = zip(shares, packed, strict=True)
        sending = [asyncio.ensure_future(self._append_share(s, p, token)) for s, p in pairs]
        await settled(sending)

    async def _append_share(self, share: "_Share", packed: bytes, token: str) -> Placed:
        with self._intake.counts.all_or_none(len(share.events)):
            placed = await self._append_again(share, packed, token)
        self._intake.counts.accepted(len(share.events))
        return placed

    async def _append_again(self, share: "_Share", packed: bytes, token: str) -> Placed:
        try:
            return await self._append_packed(share, packed, token)
        except (StoreRolledBack, KeysChanged) as error:
            await self._intake.reconsider(self._sender, error)
        # it restarted, or lost numbers that this process knew: they are given anew
        token, numbers = await self._numbers({event.item for event in share.events})
        if any(event.item not in numbers for event in share.events):
            raise TooManyItems(self._intake.numbers.exhausted)
        return await self._append_packed(share, encode(self._entry(share, numbers)), token)

    async def _append_packed(self, share: "_Share", packed: bytes, token: str) -> Placed:
        clock, (partition, n) = asyncio.get_running_loop(), (share.partition, len(share.events))
        basis = Basis(token, self._sender.keys)
        deadline, pause = clock.time() + self._intake.patience_s, FIRST_PAUSE_S
        while True:
            try:
                placed = await self._intake.append_queue.submit_entry(
                    partition, packed, n, basis, request=self._sender.request
                )
            except Backlogged:
                if clock.time() > deadline:
                    raise
            else:
                self._sequences[partition] = placed.last
                self._summary.accepted += n
                return placed
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    # --- lines to events ---------------------------------------------------------------------

    def _decode(self, block: LineBlock) -> tuple[Sequence[int], list[Feedback]]:
        if block.too_long:
            self._reject(block.first, self._too_long())
            return (), []
        try:
            events = decode_lines(block.text)
        except DECODE_ERRORS:
            return self._decode_each(block)
        if (
            len(events) != block.n
            or not one_a_line(block)
            or longest_line(block.text) > self._settings.max_line_bytes
            or not good(self._intake.rules, events)
        ):
            return self._decode_each(block)
        return range(block.first, block.first + block.n), events

    def _decode_each(self, block: LineBlock) -> tuple[list[int], list[Feedback]]:
        indexes, events = [], []
        for index, line in enumerate(block.text.split(b"\n"), block.first):
            if not line.strip():
                continue
            event = self._decode_line(line)
            if isinstance(event, Feedback):
                indexes.append(index)
                events.append(event)
            else:
                self._reject(index, event)
        return indexes, events

    def _decode_line(self, line: bytes) -> Feedback | Fault:
        if len(line) > self._settings.max_line_bytes:
            return self._too_long()
        try:
            event = decode_one(line)
        except DECODE_ERRORS as error:
            return decode_fault(error)
        return self._intake.rules.fault(event) or event

    def _too_long(self) -> Fault:
        return "line_too_long", f"a line has at most {self._settings.max_line_bytes} bytes"

    def _numbered(
        self, indexes: Sequence[int], events: list[Feedback], numbers: dict[str, int]
    ) -> tuple[list[int], list[Feedback]]:
        has_number = [event.item in numbers for event in events]
        for index in compress(indexes, (not has for has in has_number)):
            self._reject(index, (TooManyItems.code, self._intake.numbers.exhausted))
        return list(compress(indexes, has_number)), list(compress(events, has_number))

    def _reject(self, index: int, fault: Fault) -> None:
        self._summary.rejected_total += 1
        self._intake.counts.refused(fault[0])
        if len(self._summary.rejected) < MAX_REJECTED:
            self._summary.rejected.append(RejectedLine(index, *fault, index + 1))

    def _warn(self, indexes: Sequence[int], events: list[Feedback]) -> None:
        for index, event in zip(indexes, events, strict=True):
            if warning := source_warning(event):
                self._summary.warnings_total += 1
                if len(self._summary.warnings) < MAX_REJECTED:
                    self._summary.warnings.append(WarnedLine(index, *warning, index + 1))

    # --- events to entries -------------------------------------------------------------------

    def _shares(self, indexes: Sequence[int], events: list[Feedback]) -> list["_Share"]:
        """Return the events as one share for each partition that they concern."""
        partitions = self._intake.partitions
        if partitions == 1:
            return [_Share(0, indexes, events)]
        positions: dict[int, list[int]] = {}
        for position, event in enumerate(events):
            positions.setdefault(partition_of(event.user, partitions), []).append(position)
        return [
            _Share(partition, [indexes[i] for i in chosen], [events[i] for i in chosen])
            for partition, chosen in positions.items()
        ]

    def _entry(self, share: "_Share", numbers: dict[str, int]) -> Entry:
        return entry(self._intake.rules, share.indexes, share.events, numbers, self._sender)


class _Share(NamedTuple):
    """The events of a block that concern one partition, with the indexes of their lines."""

    partition: int
    indexes: Sequence[int]
    events: list[Feedback]


def one_a_line(block: LineBlock) -> bool:
    """Return whether each line of a block that holds n events is one of them.

    The decoder ignores line ends. But events contain no objects, so each ends where } and { meet.
    """
    ends = block.text.count(b"}\n{")
    if ends < block.n - 1:
        ends += block.text.count(b"}\r\n{")
    return ends == block.n - 1


def longest_line(text: bytes) -> int:
    """Return the bytes of the longest line."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    bounds = np.concatenate(([-1], ends, [len(text)]))
    return int(np.diff(bounds).max()) - 1
