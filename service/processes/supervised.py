"""One process that the supervisor keeps running: its command, its latest ends, its next start."""

from collections import deque
from dataclasses import dataclass, field

ENDS_ALLOWED, WITHIN_S = 5, 30.0
"""The service stops if a process ends this many times within this many seconds."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 4.0
"""Seconds before the next start; they double with each end."""


@dataclass
class Supervised:
    """A process that must run, and the times of its latest ends."""

    name: str
    arguments: list[str]
    files: tuple[int, ...] = ()
    """File descriptors that the process inherits."""
    essential: bool = True
    """Whether the service stops if the process keeps ending; it serves without a trainer."""
    gives_signs: bool = True
    """Whether the process gives signs of life, and is killed without them."""
    has_key: bool = False
    """Whether the process gets the API key of the environment: it is a client of the api."""
    ended: deque[float] = field(default_factory=lambda: deque(maxlen=ENDS_ALLOWED))

    @property
    def role(self) -> str:
        """Its name without a number."""
        return self.name.partition("-")[0]

    def ended_too_often(self, now: float) -> bool:
        """Record an end; return whether the process has ended too often."""
        self.ended.append(now)
        return len(self.ended) == ENDS_ALLOWED and now - self.ended[0] <= WITHIN_S

    def pause_s(self, first_s: float = FIRST_PAUSE_S) -> float:
        """Return the seconds to wait before the next start."""
        return min(first_s * 2.0 ** len(self.ended), LONGEST_PAUSE_S)
