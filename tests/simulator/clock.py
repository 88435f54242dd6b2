"""The wall clock of all processes, which somebody sets forward or back now and then."""

import random
from collections import Counter

START_MS = 1_763_000_000_000
_HOUR_MS = 3_600_000
JUMPS_MS = (-30 * 24 * _HOUR_MS, -_HOUR_MS, -1_000, 1_000, _HOUR_MS, 30 * 24 * _HOUR_MS)
"""By how much the clock may jump."""


class Clock:
    """Goes with the scheduler's time, but for the jumps."""

    def __init__(
        self, seed: int, jumps: tuple[int, ...], until_s: float, occurred: Counter[str]
    ) -> None:
        """``jumps``: how many there are before ``until_s``, one of these, drawn from the seed."""
        # numbers of its own: a seed takes the same steps with other jumps
        rng = random.Random(f"clock {seed}")  # noqa: S311 - it must be repeatable
        self._jumps = [
            (rng.uniform(0.0, until_s), rng.choice(JUMPS_MS)) for _ in range(rng.choice(jumps))
        ]
        self._occurred = occurred

    def now_ms(self, now_s: float) -> int:
        """Return the time, so many seconds after the start."""
        passed = [jump_ms for at_s, jump_ms in self._jumps if at_s <= now_s]
        self._occurred["clock_jumped"] = len(passed)
        return START_MS + int(1_000 * now_s) + sum(passed)
