"""Detection of duplicates: the digests of the last events with an id, in a bounded window.

The time is the one that the api process wrote to the log, never the learner's clock, so that a
replay drops the same events.
"""

from collections import deque
from collections.abc import Iterable

import numpy as np

from core.kernels.window import window
from core.types import I64, U8
from service.store.profiles.dedupe_chunk import DedupeChunk

_NEVER = np.iinfo(np.int64).min


class DedupeWindow:
    """The window in memory; it also knows which stored chunks it still needs."""

    def __init__(self, size: int, max_age_ms: int) -> None:
        self._size, self._max_age_ms = size, max_age_ms
        self._ring = np.zeros((max(size, 1), 2), dtype=np.uint64)
        self._ring_ms = np.zeros(max(size, 1), dtype=np.int64)
        self._table = np.full(1 << (2 * max(size, 1) - 1).bit_length(), -1, dtype=np.int32)
        self._ends: I64 = np.zeros(2, dtype=np.int64)
        self._horizon = _NEVER
        self._stored: deque[tuple[int, int]] = deque()
        self._stored_digests = 0

    def repeats(self, digests: bytes, now_ms: int) -> U8:
        """Return 1 for each digest that is in the window, and add the others to the window."""
        numbers = np.frombuffer(digests, dtype="<u8").astype(np.uint64).reshape(-1, 2)
        repeated = np.zeros(len(numbers), dtype=np.uint8)
        if self._size and len(numbers):
            # never goes back, although the clocks of two api processes may differ
            self._horizon = max(self._horizon, now_ms - self._max_age_ms)
            window(
                numbers,
                now_ms,
                self._horizon,
                self._ring,
                self._ring_ms,
                self._table,
                self._ends,
                repeated,
            )
        return repeated

    def load(self, chunks: Iterable[DedupeChunk]) -> None:
        """Fill an empty window from the stored chunks, oldest first."""
        for chunk in chunks:
            self.repeats(chunk.digests, chunk.appended_ms)
            self._count(chunk)

    def store(self, chunks: Iterable[DedupeChunk]) -> int:
        """Note that the chunks are stored; return how many of the oldest chunks may be deleted."""
        for chunk in chunks:
            self._count(chunk)
        gone = 0
        while self._stored and self._is_obsolete(*self._stored[0]):
            self._stored_digests -= self._stored.popleft()[1]
            gone += 1
        return gone

    def _count(self, chunk: DedupeChunk) -> None:
        self._stored.append((chunk.appended_ms, len(chunk)))
        self._stored_digests += len(chunk)

    def _is_obsolete(self, now_ms: int, n: int) -> bool:
        return self._stored_digests - n >= self._size or now_ms < self._horizon
