"""The ids of all items in the order of their bytes: our own lists follow the items' numbers."""

import asyncio
from bisect import bisect_right

from service.runtime.api import ApiRuntime

PAGE = 1_000
"""Ids that are read at once."""


class SortedItems:
    """Keeps the ids that were there when a page was last asked for, and sorts in new ones.

    They take about as much memory as the ids themselves, once somebody lists them.
    """

    def __init__(self) -> None:
        self._sorted: list[bytes] = []
        self._read, self._token = 0, ""
        self._lock = asyncio.Lock()

    async def after(self, runtime: ApiRuntime, last: str | None, n: int) -> list[str]:
        """Return up to n ids after ``last``."""
        async with self._lock:
            await self._read_on(runtime)
            first = 0 if last is None else bisect_right(self._sorted, last.encode())
            return [item.decode() for item in self._sorted[first : first + n]]

    async def _read_on(self, runtime: ApiRuntime) -> None:
        token, new = runtime.known.token, list[bytes]()
        if token != self._token:
            self._sorted, self._read, self._token = [], 0, token
        while ids := await runtime.numbers.page(self._read + len(new), PAGE):
            new += [item.encode() for item in ids]
        self._read += len(new)
        if new:
            # in a thread: a large catalogue takes a moment, once
            self._sorted = await asyncio.to_thread(sorted, [*self._sorted, *new])
