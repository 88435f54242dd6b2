"""What an api process keeps of derived things by looking every few seconds whether they changed."""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from time import perf_counter

from service.errors import StoreUnavailable
from service.telemetry import logger

PERIOD_S = 2.0
"""Between two looks."""
SHARE = 0.05
"""Part of the time that looking may take: what is large is read less often."""


class Polled(ABC):
    """Looks again and again while it is open; who reads it gets what the last look found."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def refresh(self) -> None:
        """Look once; StoreUnavailable leaves everything as it was."""

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._look())
        self._task.add_done_callback(self._ended)

    async def close(self) -> None:
        """Stop."""
        task, self._task = self._task, None
        while task is not None and not task.done():
            task.cancel()
            # again and again: redis-py loses a cancellation that comes while it takes a connection
            await asyncio.wait([task], timeout=0.1)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Never end in silence: what was found last would stay for ever."""
        if not task.cancelled():
            what = type(self).__name__
            logger().error("polling_failed", what=what, exc_info=task.exception())
            asyncio.get_running_loop().call_later(PERIOD_S, self._again)

    def _again(self) -> None:
        if self._task is not None:
            self.start()

    async def _look(self) -> None:
        while True:
            began = perf_counter()
            with contextlib.suppress(StoreUnavailable):
                await self.refresh()
            await asyncio.sleep(max(PERIOD_S, (perf_counter() - began) / SHARE))
