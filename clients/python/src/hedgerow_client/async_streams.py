"""A stream of events for ``asyncio``: a bounded queue, and a task that sends it in batches."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from typing import Self

from hedgerow_client import types
from hedgerow_client.errors import HedgerowError, NothingAccepted, NotInTime, StreamFailed
from hedgerow_client.receipts import Receipt, settled
from hedgerow_client.requests import for_stream
from hedgerow_client.streams import OnBatch

AsyncSend = Callable[[Sequence[types.Feedback]], Awaitable[types.Written]]


class AsyncEventStream:
    """Sends events in batches, in order, while the program goes on; tasks may share it.

    ``AsyncClient.stream`` makes one. Close it, best by ``async with``: that waits until every event
    is acknowledged or refused. One batch is on its way at a time, so that events stay in order.
    """

    def __init__(
        self, send: AsyncSend, *, rows: int, age_s: float, waiting: int, on_batch: OnBatch | None
    ) -> None:
        self._send, self._rows, self._age_s, self._most = send, rows, age_s, waiting
        self._on_batch = on_batch
        self._queue: deque[tuple[float, types.Feedback]] = deque()
        """The events that wait, each with the time of its arrival."""
        self._under_way: list[types.Feedback] = []
        self._taken = self._settled = self._urgent = 0
        """Events that were taken, that were settled, and up to which no batch waits to fill."""
        self._closed = False
        self._failure: BaseException | None = None
        self._receipt = Receipt()
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def receipt(self) -> Receipt:
        """What became of the events so far."""
        return deepcopy(self._receipt)

    async def send(self, event: types.Feedback, timeout_s: float | None = None) -> None:
        """Take one event; while the queue is full this waits, NotInTime after the timeout.

        TypeError or ValueError if its values have no JSON: then the stream goes on without it.
        """
        ready = for_stream(event)
        async with self._changed:
            self._task = self._task or asyncio.create_task(self._run())
            await self._wait(
                lambda: len(self._queue) < self._most, timeout_s, "the queue is still full"
            )
            if self._closed:
                raise ValueError("the stream is closed: open another one")
            now = asyncio.get_running_loop().time()
            self._queue.append((now, ready))
            self._taken += 1
            self._changed.notify_all()

    async def flush(self, timeout_s: float | None = None) -> Receipt:
        """Return once every event so far is acknowledged or refused; NotInTime after a timeout."""
        async with self._changed:
            until = self._urgent = self._taken
            self._changed.notify_all()
            await self._wait(
                lambda: self._settled >= until, timeout_s, "not all is acknowledged yet"
            )
            return self.receipt

    async def close(self) -> Receipt:
        """Send what waits and end; may be called again."""
        async with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._task:
            await asyncio.wait([self._task])
        return await self.flush()

    async def abandon(self) -> list[types.Feedback]:
        """End at once and return the events that may not be stored, without waiting for any."""
        left = self._unacknowledged()
        self._closed = True
        self._failure = self._failure or HedgerowError("the stream was abandoned")
        self._queue.clear()
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])
        return left

    def _unacknowledged(self) -> list[types.Feedback]:
        return [*self._under_way, *(event for _, event in self._queue)]

    async def _wait(
        self, condition: Callable[[], bool], timeout_s: float | None, what: str
    ) -> None:
        """Wait for a condition; StreamFailed if the stream can never fulfil it."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait_for(lambda: bool(self._failure) or condition())
        except TimeoutError:
            raise NotInTime(f"{what} after {timeout_s} s") from None
        if self._failure:
            raise StreamFailed(self._failure, self._unacknowledged()) from self._failure

    async def _run(self) -> None:
        try:
            while events := await self._next_batch():
                await self._settle(events)
        except BaseException as error:  # noqa: BLE001 - raised again where events are given
            self._failure = self._failure or error
            async with self._changed:
                self._changed.notify_all()

    async def _next_batch(self) -> list[types.Feedback]:
        """Wait until a batch is due and return it; empty once the stream is closed and empty."""
        async with self._changed:
            while (pause_s := self._until_due()) > 0:
                try:
                    async with asyncio.timeout(pause_s if self._queue else None):
                        await self._changed.wait()
                except TimeoutError:
                    continue
            n = min(self._rows, len(self._queue))
            self._under_way = [self._queue.popleft()[1] for _ in range(n)]
            self._changed.notify_all()
            return self._under_way

    def _until_due(self) -> float:
        """Return the seconds after which what waits should leave."""
        if self._closed or len(self._queue) >= self._rows or self._urgent > self._settled:
            return 0.0
        if not self._queue:
            return self._age_s + 1
        return self._queue[0][0] + self._age_s - asyncio.get_running_loop().time()

    async def _settle(self, events: list[types.Feedback]) -> None:
        try:
            batch = settled(events, await self._send(events))
        except NothingAccepted as refusal:
            batch = settled(events, refusal)
        if self._on_batch:
            self._on_batch(batch)
        async with self._changed:
            self._receipt.add(batch)
            self._settled += len(events)
            self._under_way = []
            self._changed.notify_all()
