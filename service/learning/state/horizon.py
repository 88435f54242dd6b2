"""How far ahead an event may be dated: never beyond the arrival of the newest event, and a day.

A date of 2099 would let all other events decay to nothing. The api refuses such events, but a store
may hold some from before. The learner knows no clock; each entry of the log says when the api
appended it, so a replay of the log bounds the same times in the same way. What is read from stored
histories is bounded by the arrival of the newest event of the partition, which its state holds
(docs/adr/0015-bad-clocks.md).
"""

import numpy as np

from core.types import I64

_NEVER = np.iinfo(np.int64).max


def counted_ms(time_ms: I64, arrived_ms: int, tolerance_ms: int) -> I64:
    """Return the times as which events (n,) count that arrived at one moment.

    >>> counted_ms(np.array([5, 17, 99]), 10, 7).tolist()
    [5, 17, 10]
    """
    found: I64 = np.where(time_ms > arrived_ms + tolerance_ms, arrived_ms, time_ms)
    return found


class Horizon:
    """The arrival of the newest event of a partition, as far as it is learned."""

    def __init__(self, arrived_ms: int = 0, tolerance_ms: int = 0) -> None:
        """``arrived_ms`` is 0 where nothing is known: then any time counts."""
        self._arrived_ms, self._tolerance_ms = arrived_ms, tolerance_ms

    @property
    def until_ms(self) -> int:
        """Return the latest time that an event may have."""
        return self._arrived_ms + self._tolerance_ms if self._arrived_ms else _NEVER

    def reach(self, arrived_ms: int) -> None:
        """Move on to a later event."""
        self._arrived_ms = arrived_ms

    def counted(self, time_ms: I64) -> I64:
        """Return the times as which stored events (n,) count."""
        if not self._arrived_ms:
            return time_ms
        return counted_ms(time_ms, self._arrived_ms, self._tolerance_ms)
