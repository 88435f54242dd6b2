"""What clients asked and were told, what was done to the service, and when."""

import time
from collections import Counter
from dataclasses import dataclass, field

AROUND_S = 2.0
"""What is told of the time before and after a broken promise."""
MOST_LINES = 60


class Broken(AssertionError):
    """A promise of the service was broken."""

    def __init__(self, what: str, at: float | None = None) -> None:
        """``at`` is the time around which the history is of interest; None: its end."""
        super().__init__(what)
        self.at = at


@dataclass(frozen=True)
class Answer:
    """The end of one request; status 0 if no answer came."""

    who: str
    request: str
    began: float
    ended: float
    status: int
    code: str = ""
    """The code of an error, or why there was no answer."""
    retry_after: str | None = None

    @property
    def outcome(self) -> str:
        return f"{self.status} {self.code}".strip()

    def __str__(self) -> str:
        return f"{self.who}: {self.request} -> {self.status} {self.code}"


@dataclass
class Occurrence:
    """A fault: from ``began`` to ``ended`` it was there; until ``recovered`` it may be felt."""

    name: str
    began: float
    ended: float = float("inf")
    recovered: float = float("inf")
    takes_api: bool = False
    """Whether a client of an api process may get no answer."""
    loses_since: float | None = None
    """If the store may lose what it acknowledged: of what was acknowledged from when on."""

    def touches(self, began: float, ended: float) -> bool:
        return began < self.recovered and ended > self.began


@dataclass
class History:
    """Everything that happened in one run; threads append to its lists."""

    answers: list[Answer] = field(default_factory=list)
    waits: list[tuple[float, float]] = field(default_factory=list)
    """When a reader began to ask, and when it had an answer of status 200."""
    faults: list[Occurrence] = field(default_factory=list)

    def statuses(self) -> Counter[str]:
        return Counter(one.outcome for one in self.answers)

    def told(self, who: str, began: float, ended: float) -> Counter[str]:
        """Return how the requests ended that some clients sent within a time."""
        return Counter(
            one.outcome
            for one in self.answers
            if one.who.startswith(who) and one.began >= began and one.ended <= ended
        )

    def may_be_silent(self, began: float, ended: float) -> bool:
        """Return whether a request may have got no answer."""
        return any(one.takes_api and one.touches(began, ended) for one in self.faults)

    def losses(self, since: float = 0.0) -> list[Occurrence]:
        """Return the faults that may have taken something, and were felt after a time."""
        return [one for one in self.faults if one.loses_since is not None and one.recovered > since]

    def around(self, at: float | None, subject: str) -> str:
        """Return what happened around a time, as lines, and where the promise was broken."""
        last = max((one.ended for one in self.answers), default=time.monotonic())
        centre = last if at is None else at
        near = [one for one in self.answers if abs(one.ended - centre) < AROUND_S]
        near.sort(key=lambda one: abs(one.ended - centre))
        lines = [(one.ended, str(one)) for one in near[:MOST_LINES]]
        for fault in self.faults:
            lines.append((fault.began, f"fault {fault.name} begins"))
            lines.append((fault.ended, f"fault {fault.name} has ended"))
            lines.append((fault.recovered, f"recovered from {fault.name}"))
        begin = self.answers[0].began if self.answers else 0.0
        lines.append((centre, f"BROKEN: {subject}"))
        return "\n".join(f"{at - begin:9.3f} s  {text}" for at, text in sorted(lines))
