"""How much a log must grow until a training is worth it, and when a rush of events is over."""

FIRST, FEWEST_USERS = 20, 2
"""Events and users with a history that a first training needs."""
GROWTH, LEAST, MOST = 0.2, 2_000, 100_000
"""New events before each later training: a share of those at the last one, and its bounds.

A log of fewer than ``LEAST`` events has to double."""
OUTGROWN = 1.5
"""Growth of the log after which no pause holds: what serves knows only a part of what there is."""
QUIET_MS, PATIENCE_MS = 1_500, 60_000
"""Milliseconds without an event after which a rush is over, and the longest wait for that."""


def enough(events: int) -> int:
    """Return how many new events are worth a training, if the last one has learned so many.

    >>> [enough(n) for n in (0, 24, 5_000, 50_000, 10**7)]
    [20, 24, 2000, 10000, 100000]
    """
    if events < FIRST:
        return FIRST
    return min(max(int(GROWTH * events), min(events, LEAST)), MOST)


class Rush:
    """Many events in a short time, such as an import: a training waits for its end, for a while.

    A training in the middle of an import would serve people whose history is not there yet.
    """

    def __init__(self) -> None:
        self._began_ms: int | None = None
        self._end, self._since_ms = -1, 0

    def is_over(self, *, end: int, learned: int, now_ms: int) -> bool:
        """Look at the log, of ``end`` events; return whether to wait no longer."""
        if self._began_ms is None:
            self._began_ms = now_ms
        if end != self._end:
            self._end, self._since_ms = end, now_ms
        is_quiet = learned >= end and now_ms - self._since_ms >= QUIET_MS
        return is_quiet or now_ms - self._began_ms >= PATIENCE_MS

    def forget(self) -> None:
        """Begin anew: there is nothing to wait for."""
        self._began_ms, self._end = None, -1
