"""Processor time that other processes used during a measurement.

A busy neighbour on the machine is the only acceptable excuse for a bad figure.
"""

import os
import resource
import time
from pathlib import Path

_STAT = Path("/proc/stat")


class Neighbours:
    """Counts from its construction on.

    Our own child processes must have ended before ``cores`` is called.
    """

    def __init__(self) -> None:
        self._started, self._others = time.perf_counter(), _others_s()

    def cores(self) -> float:
        """Return how many cores others kept busy on average; NaN without /proc/stat."""
        return (_others_s() - self._others) / (time.perf_counter() - self._started)


def _others_s() -> float:
    """Return the machine's busy seconds minus ours and those of our ended children."""
    if not _STAT.is_file():
        return float("nan")
    ticks = [int(word) for word in _STAT.read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _waiting, irq, softirq, steal = ticks[:8]
    busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return busy - sum(one.ru_utime + one.ru_stime for one in used)
