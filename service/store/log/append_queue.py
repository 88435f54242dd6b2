"""Group commit: rows submitted in one turn of the event loop, or during an append, share an entry.

Events reach the log in three steps: ``api/feedback/intake`` parses and checks them, the
``AppendQueue`` here groups the rows of concurrent requests, ``LogWriter`` in ``stream`` runs the
append script. One lane for each partition keeps at most one append in flight; a request gets one
future and no task.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from service.errors import ServiceError
from service.store.clock import now_ms
from service.store.identity.known import NO_BASIS, Basis
from service.store.log.codec import Entry, PackedEntry, encode
from service.store.log.erasure_order import Order
from service.store.log.last_move import LastMove
from service.store.log.noted_ids import Placed, rows_of
from service.store.log.requests import packed_shares

MAX_ENTRY_ROWS = 16_384
"""Most rows of one entry; further rows wait for the next."""

_UNEXPECTED = ServiceError("the append failed unexpectedly: see the service's log")


class Row(NamedTuple):
    """A checked event; its ``flags`` say which of ``digest``, ``source`` and ``context`` it has."""

    user: str
    item: int
    value: float
    time_ms: int
    kind: int
    flags: int
    digest: bytes
    source: bytes = b""
    context: bytes = b""


class Log(Protocol):
    """The next step: ``stream.LogWriter``."""

    async def append(
        self,
        partition: int,
        packed: bytes,
        n: int,
        basis: Basis,
        order: Order | None,
        requests: bytes,
    ) -> Placed:
        """Append and return where the events are."""

    async def append_together(
        self, entries: Sequence[PackedEntry], before: LastMove, basis: Basis
    ) -> list[int]:
        """Append all entries or none; return the sequence of the last event of each."""


@dataclass(frozen=True)
class _Rows:
    rows: Sequence[Row]
    basis: Basis
    done: asyncio.Future[Placed]
    request: str


@dataclass(frozen=True)
class _Packed:
    packed: bytes
    n: int
    basis: Basis
    done: asyncio.Future[Placed]
    order: Order | None
    requests: bytes


class AppendQueue:
    """Appends rows to the log; each future resolves to where its rows are.

    Rows share an entry if they rest on the same ``basis``.
    """

    def __init__(self, log: Log, partitions: int, clock: Callable[[], int] = now_ms) -> None:
        """``clock`` gives the time in ms that entries are stamped with."""
        self.clock = clock
        self._log = log
        self._lanes = [_Lane(log, partition, clock) for partition in range(partitions)]

    def submit(
        self, partition: int, rows: Sequence[Row], basis: Basis = NO_BASIS, request: str = ""
    ) -> asyncio.Future[Placed]:
        """Queue rows that may share an entry with others; they get adjacent sequences.

        ``request`` is the id of the request that they came with, if that is followed.
        """
        done = asyncio.get_running_loop().create_future()
        self._lanes[partition].put(_Rows(rows, basis, done, request))
        return done

    def submit_entry(
        self,
        partition: int,
        packed: bytes,
        n: int,
        basis: Basis = NO_BASIS,
        order: Order | None = None,
        request: str = "",
    ) -> asyncio.Future[Placed]:
        """Queue an encoded entry that is not merged with others; its repeats are not told by rows.

        That is a large block of an upload, a merge, or the deletion of a user with the order to
        erase it: what is wrong with others' rows must not keep it from being learned.
        """
        done = asyncio.get_running_loop().create_future()
        followed = packed_shares([n], [request]) if request else b""
        self._lanes[partition].put(_Packed(packed, n, basis, done, order, followed))
        return done

    async def append_together(
        self, entries: Sequence[PackedEntry], before: LastMove, basis: Basis = NO_BASIS
    ) -> list[int]:
        """Append all entries of a merge or none; return the sequence of the last event of each.

        This waits for no rows that were submitted before. ``before``: see ``LogWriter``.
        """
        return await self._log.append_together(entries, before, basis)

    async def close(self) -> None:
        """Wait until all submitted rows are answered."""
        for lane in self._lanes:
            if lane.task is not None:
                await lane.task


class _Lane:
    def __init__(self, log: Log, partition: int, clock: Callable[[], int]) -> None:
        self._log = log
        self._partition = partition
        self._clock = clock
        self._waiting: deque[_Rows | _Packed] = deque()
        self.task: asyncio.Task[None] | None = None

    def put(self, work: _Rows | _Packed) -> None:
        self._waiting.append(work)
        if self.task is None:
            # the task starts after this turn of the loop: rows submitted until then share an entry
            self.task = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        try:
            while self._waiting:
                await self._append_next()
        finally:
            self.task = None
            # not empty only after an unforeseen error: no caller must wait for ever
            _fail([(work.done, 0) for work in self._waiting], _UNEXPECTED)
            self._waiting.clear()

    async def _append_next(self) -> None:
        work = self._waiting.popleft()
        if isinstance(work, _Packed):
            await self._append(work, [(work.done, work.n)], ())
            return
        rows, answers = list(work.rows), [(work.done, len(work.rows))]
        requests = [work.request]
        while len(rows) < MAX_ENTRY_ROWS and self._waiting:
            following = self._waiting[0]
            if isinstance(following, _Packed) or following.basis != work.basis:
                break
            rows += following.rows
            answers.append((following.done, len(rows)))
            requests.append(following.request)
            self._waiting.popleft()
        packed = encode(entry_of(rows, self._clock()))
        ends = [end for _, end in answers]
        followed = packed_shares(ends, requests) if any(requests) else b""
        whole = _Packed(packed, len(rows), work.basis, work.done, None, followed)
        await self._append(whole, answers, rows)

    async def _append(self, work: _Packed, answers: "_Answers", rows: Sequence[Row]) -> None:
        """Append an entry; tell each request where its rows are."""
        try:
            placed = await self._log.append(
                self._partition, work.packed, work.n, work.basis, work.order, work.requests
            )
        except ServiceError as error:
            _fail(answers, error)
            return
        except BaseException:
            _fail(answers, _UNEXPECTED)
            raise
        repeats = rows_of(placed.repeats, [row.flags for row in rows]) if placed.repeats else []
        first = 0
        for done, end in answers:
            own = [row - first for row in repeats if first <= row < end]
            if not done.done():
                done.set_result(Placed(placed.last - work.n + end, own))
            first = end


_Answers = list[tuple[asyncio.Future[Placed], int]]
"""Of each request of an entry, and how many rows of the entry there are up to its last one."""


def _fail(answers: _Answers, error: ServiceError) -> None:
    for done, _ in answers:
        if not done.done():
            done.set_exception(error)


def entry_of(rows: Sequence[Row], appended_ms: int) -> Entry:
    """Return rows as the columns of one entry, stamped with the time."""
    users, items, values, times, kinds, flags, digests, sources, contexts = zip(*rows, strict=True)
    index = {user: ix for ix, user in enumerate(dict.fromkeys(users))}
    return Entry(
        users=tuple(index),
        user_ix=np.array([index[user] for user in users], dtype=np.uint32),
        item=np.array(items, dtype=np.uint32),
        value=np.array(values, dtype=np.float32),
        time_ms=np.array(times, dtype=np.int64),
        kind=np.array(kinds, dtype=np.uint8),
        flags=np.array(flags, dtype=np.uint8),
        digests=b"".join(digests),
        appended_ms=appended_ms,
        sources=b"".join(sources),
        contexts=tuple(filter(None, contexts)),
    )
