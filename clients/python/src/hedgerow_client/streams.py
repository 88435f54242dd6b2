"""A stream of events: a bounded queue, and a thread that sends what waits in batches."""

import atexit
import threading
from collections import deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from time import monotonic
from typing import Self

from hedgerow_client import types
from hedgerow_client.errors import HedgerowError, NothingAccepted, NotInTime, StreamFailed
from hedgerow_client.receipts import Batch, Receipt, settled
from hedgerow_client.requests import for_stream

Send = Callable[[Sequence[types.Feedback]], types.Written]
OnBatch = Callable[[Batch], None]


class EventStream:
    """Sends events in batches, in order, while the program goes on; threads may share it.

    ``Client.stream`` makes one. Close it, best by ``with``: that waits until every event is
    acknowledged or refused. One batch is on its way at a time, so that events stay in order.
    """

    def __init__(
        self, send: Send, *, rows: int, age_s: float, waiting: int, on_batch: OnBatch | None
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
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="hedgerow-stream", daemon=True)
        self._thread.start()
        # a program that ends without closing still sends what it has given
        atexit.register(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def receipt(self) -> Receipt:
        """What became of the events so far."""
        with self._changed:
            return deepcopy(self._receipt)

    def send(self, event: types.Feedback, timeout_s: float | None = None) -> None:
        """Take one event; while the queue is full this blocks, NotInTime after the timeout.

        TypeError or ValueError if its values have no JSON: then the stream goes on without it.
        """
        ready = for_stream(event)
        with self._changed:
            self._wait(lambda: len(self._queue) < self._most, timeout_s, "the queue is still full")
            if self._closed:
                raise ValueError("the stream is closed: open another one")
            self._queue.append((monotonic(), ready))
            self._taken += 1
            self._changed.notify_all()

    def flush(self, timeout_s: float | None = None) -> Receipt:
        """Return once every event so far is acknowledged or refused; NotInTime after a timeout."""
        with self._changed:
            until = self._urgent = self._taken
            self._changed.notify_all()
            self._wait(lambda: self._settled >= until, timeout_s, "not all is acknowledged yet")
            return deepcopy(self._receipt)

    def close(self) -> Receipt:
        """Send what waits and end; may be called again."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()
        atexit.unregister(self.close)
        return self.flush()

    def abandon(self) -> list[types.Feedback]:
        """End at once and return the events that may not be stored, without waiting for any."""
        with self._changed:
            left = self._unacknowledged()
            self._closed = True
            self._failure = self._failure or HedgerowError("the stream was abandoned")
            self._queue.clear()
            self._changed.notify_all()
        atexit.unregister(self.close)
        return left

    def _unacknowledged(self) -> list[types.Feedback]:
        return [*self._under_way, *(event for _, event in self._queue)]

    def _wait(self, condition: Callable[[], bool], timeout_s: float | None, what: str) -> None:
        """Wait for a condition; StreamFailed if the stream can never fulfil it."""
        come = self._changed.wait_for(lambda: self._failure or condition(), timeout_s)
        if self._failure:
            raise StreamFailed(self._failure, self._unacknowledged()) from self._failure
        if not come:
            raise NotInTime(f"{what} after {timeout_s} s")

    def _run(self) -> None:
        try:
            while events := self._next_batch():
                self._settle(events)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that sends
            with self._changed:
                self._failure = self._failure or error
                self._changed.notify_all()

    def _next_batch(self) -> list[types.Feedback]:
        """Wait until a batch is due and return it; empty once the stream is closed and empty."""
        with self._changed:
            while (pause_s := self._until_due()) > 0:
                self._changed.wait(pause_s if self._queue else None)
            n = min(self._rows, len(self._queue))
            self._under_way = [self._queue.popleft()[1] for _ in range(n)]
            self._changed.notify_all()
            return self._under_way

    def _until_due(self) -> float:
        """Return the seconds after which what waits should leave."""
        if self._closed or len(self._queue) >= self._rows or self._urgent > self._settled:
            return 0.0
        return self._queue[0][0] + self._age_s - monotonic() if self._queue else self._age_s + 1

    def _settle(self, events: list[types.Feedback]) -> None:
        try:
            batch = settled(events, self._send(events))
        except NothingAccepted as refusal:
            batch = settled(events, refusal)
        if self._on_batch:
            self._on_batch(batch)
        with self._changed:
            self._receipt.add(batch)
            self._settled += len(events)
            self._under_way = []
            self._changed.notify_all()
