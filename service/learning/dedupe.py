"""Detection of duplicates: the digests of the last events with an id, in a bounded window.

Ages are counted in the times that api processes wrote to the log, never by the learner's clock, so
that a replay drops the same events. The clock of an api process may jump: from one entry to the
next an age grows by a minute at most, so a wrong clock makes the window forget later, never sooner.
"""

from collections import deque
from collections.abc import Iterable

import numpy as np

from core.kernels.window import window
from core.types import I64, U8
from service.store.profiles.dedupe_chunk import DedupeChunk

LONGEST_STEP_MS = 60_000
"""How far one entry of the log may advance the age of what is remembered."""


class _Ages:
    """Turns the times of entries, in their order, into ages that never jump and never go back."""

    def __init__(self) -> None:
        self._latest_ms: int | None = None
        self.now_ms = 0

    def at(self, appended_ms: int) -> int:
        """Return the age of the log at its next entry."""
        before = appended_ms if self._latest_ms is None else self._latest_ms
        self.now_ms += min(max(appended_ms - before, 0), LONGEST_STEP_MS)
        self._latest_ms = max(appended_ms, before)
        return self.now_ms


class DedupeWindow:
    """The window in memory; it also knows which stored chunks it still needs."""

    def __init__(self, size: int, max_age_ms: int) -> None:
        self._size, self._max_age_ms = size, max_age_ms
        self._ring = np.zeros((max(size, 1), 2), dtype=np.uint64)
        self._ring_ms = np.zeros(max(size, 1), dtype=np.int64)
        self._table = np.full(1 << (2 * max(size, 1) - 1).bit_length(), -1, dtype=np.int32)
        self._ends: I64 = np.zeros(2, dtype=np.int64)
        self._read, self._kept = _Ages(), _Ages()
        self._stored: deque[tuple[int, int]] = deque()
        self._stored_digests = 0

    def repeats(self, digests: bytes, appended_ms: int) -> U8:
        """Return 1 for each digest that is in the window, and add the others to the window."""
        numbers = np.frombuffer(digests, dtype="<u8").astype(np.uint64).reshape(-1, 2)
        repeated = np.zeros(len(numbers), dtype=np.uint8)
        if self._size and len(numbers):
            age_ms = self._read.at(appended_ms)
            window(
                numbers,
                age_ms,
                age_ms - self._max_age_ms,
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
        self._stored.append((self._kept.at(chunk.appended_ms), len(chunk)))
        self._stored_digests += len(chunk)

    def _is_obsolete(self, age_ms: int, n: int) -> bool:
        too_many = self._stored_digests - n >= self._size
        return too_many or age_ms < self._read.now_ms - self._max_age_ms
