"""What is popular and trending, as every api process keeps it: two orders of items, read anew when they changed."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from core import counters
from core.types import F32, F64, I32
from service.errors import StoreUnavailable
from service.store.counters import CountsReader
from service.telemetry import logger

PERIOD_S = 2.0
"""Between two looks at the counters."""
SHARE = 0.05
"""Part of the time that reading and sorting may take: large catalogues are read less often."""

Order = tuple[I32, F32]
"""Item numbers, best first, and their scores."""


def _nothing() -> Order:
    return np.empty(0, np.int32), np.empty(0, np.float32)


@dataclass(frozen=True)
class Orders:
    """All items with any evidence."""

    popular: Order = field(default_factory=_nothing)
    """The score is the weight of all positives."""
    trending: Order = field(default_factory=_nothing)
    """The score is the decayed weight as of the newest event."""
    seen_through: dict[int, int] = field(default_factory=dict)
    """Partition -> sequence."""


class Popularity:
    """Follows the counters while it is open; ``current`` is replaced as a whole."""

    def __init__(self, reader: CountsReader, half_life_h: float) -> None:
        self._reader, self._half_life_ms = reader, half_life_h * 3_600_000
        self._cuts: list[tuple[int, int]] = []
        self._task: asyncio.Task[None] | None = None
        self.current = Orders()

    def start(self) -> None:
        """Begin to follow."""
        self._task = asyncio.create_task(self._follow())
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Never end in silence: the old orders would stay for ever."""
        if not task.cancelled():
            logger().error("popularity_failed", exc_info=task.exception())
            asyncio.get_running_loop().call_later(PERIOD_S, self.start)

    async def close(self) -> None:
        """Stop."""
        task, self._task = self._task, None
        while task is not None and not task.done():
            task.cancel()
            # again and again: redis-py loses a cancellation that comes while it takes a connection
            await asyncio.wait([task], timeout=0.1)

    async def refresh(self) -> Orders:
        """Read the counters now, if anything was learned since; returns the orders."""
        cuts = await self._reader.cuts()
        if cuts != self._cuts:
            rows = [
                await self._reader.rows(p, generation) for p, (generation, _) in enumerate(cuts)
            ]
            watermarks = {partition: watermark for partition, (_, watermark) in enumerate(cuts)}
            # beside the event loop: sorting a million items takes a tenth of a second
            self.current = await asyncio.to_thread(self._orders, rows, watermarks)
            self._cuts = cuts
        return self.current

    async def _follow(self) -> None:
        while True:
            began = perf_counter()
            with contextlib.suppress(StoreUnavailable):
                await self.refresh()
            await asyncio.sleep(max(PERIOD_S, (perf_counter() - began) / SHARE))

    def _orders(self, rows: Sequence[F64], watermarks: dict[int, int]) -> Orders:
        joined = counters.joined(rows, self._half_life_ms)
        trending = counters.trending(joined, self._half_life_ms)
        return Orders(counters.popular(joined), trending, watermarks)
