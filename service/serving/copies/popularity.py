"""Popular and trending items: two orders, computed again when the counters change."""

import asyncio
from collections.abc import Sequence

from core import popularity
from core.types import F64
from service.ranking.untrained.everybody import Orders
from service.serving.copies.polling import Polled
from service.store.clock import now_ms
from service.store.profiles.counters import CountsReader, Learned


class Popularity(Polled):
    """Follows the counters while it is open; ``current`` is replaced as a whole."""

    def __init__(
        self, reader: CountsReader, half_life_h: float, tolerance_s: float = 86_400
    ) -> None:
        """Evidence that is dated more than ``tolerance_s`` ahead is not recent."""
        super().__init__()
        self._reader, self._half_life_ms = reader, half_life_h * 3_600_000
        self._tolerance_ms = 1_000 * tolerance_s
        self._states: list[Learned] = []
        self.current = Orders()

    async def refresh(self) -> None:
        """Read the counters now, if anything was learned since."""
        states = await self._reader.states()
        if states != self._states:
            rows = [await self._reader.rows(p, one.generation) for p, one in enumerate(states)]
            watermarks = {partition: one.watermark for partition, one in enumerate(states)}
            # in a thread: sorting a million items takes a tenth of a second
            self.current = await asyncio.to_thread(self._orders, rows, watermarks)
            self._states = states

    def _orders(self, rows: Sequence[F64], watermarks: dict[int, int]) -> Orders:
        until_ms = now_ms() + self._tolerance_ms
        known = [popularity.dated(part, until_ms) for part in rows]
        joined = popularity.joined(known, self._half_life_ms)
        trending = popularity.trending(joined, self._half_life_ms)
        return Orders(popularity.popular(joined), trending, watermarks)
