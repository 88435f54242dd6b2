"""The wall clock of all stored times."""

import time


def now_ms() -> int:
    """Return the time in UTC ms since 1970."""
    return time.time_ns() // 1_000_000
