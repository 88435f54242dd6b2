"""Copies of derived data in an api process, kept current by polling every few seconds."""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from time import perf_counter

from service.errors import StoreUnavailable
from service.store.identity.survey import Survey
from service.telemetry import logger

PERIOD_S = 2.0
"""Shortest time between two polls, in seconds."""
SHARE = 0.05
"""Largest share of the time that polling may take: large data is read less often."""
LONGEST_S = 30.0
"""Longest time between two polls, in seconds, whatever the last one took: a poll that was slow
because the machine was busy says nothing of the next one."""


class Polled(ABC):
    """Polls while it is open; readers get the result of the last successful poll."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._held = False
        self._at_once = asyncio.Event()
        """Set if the next poll must not wait."""

    @abstractmethod
    async def refresh(self) -> None:
        """Poll once; StoreUnavailable leaves everything as it was."""

    def start(self) -> None:
        """Begin to poll."""
        self._task = asyncio.create_task(self._poll())
        self._task.add_done_callback(self._ended)

    def forget(self, now: Survey, *, went_back: bool) -> None:
        """Poll again, at once: what is kept may name items that the store has lost.

        The poll notices by itself that the store is another.
        """
        self._held = False
        self._at_once.set()

    def hold(self, now: Survey) -> None:
        """Keep the results as they are while the store cannot be trusted."""
        self._held = True

    async def close(self) -> None:
        """Stop polling."""
        task, self._task = self._task, None
        while task is not None and not task.done():
            task.cancel()
            # repeatedly: redis-py loses a cancellation that arrives while it takes a connection
            await asyncio.wait([task], timeout=0.1)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Log a failure and start again later: otherwise old results would stay for ever."""
        if not task.cancelled():
            what = type(self).__name__
            logger().error("polling_failed", what=what, exc_info=task.exception())
            asyncio.get_running_loop().call_later(PERIOD_S, self._again)

    def _again(self) -> None:
        if self._task is not None:
            self.start()

    async def _poll(self) -> None:
        while True:
            self._at_once.clear()
            began = perf_counter()
            with contextlib.suppress(StoreUnavailable):
                if not self._held:
                    await self.refresh()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_pause(perf_counter() - began)):
                    await self._at_once.wait()


def _pause(seconds: float) -> float:
    """Return the time until the next poll after one that took so long."""
    return min(max(PERIOD_S, seconds / SHARE), LONGEST_S)
