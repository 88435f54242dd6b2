"""Draws from a seed what is done to the service, in which order, and for how long."""

import random
from dataclasses import dataclass

from tests.chaos.faults import FAULTS, LOSSES

PRIVATE = 0.35
"""Share of the schedules with a private server; the others have a given one behind a line."""
STEPS = (4, 7)
TOGETHER = 0.3
"""Share of the steps with two faults at once."""
LOSS = 0.4
"""Share of the schedules with a given store in which it once loses what it acknowledged."""
MOST_OF_ONE = 2
"""How often a fault occurs: `serve` gives up a child that ends five times in half a minute."""


@dataclass(frozen=True)
class Step:
    """Faults that begin together, how long they last, and the rest after them."""

    faults: tuple[str, ...]
    lasts_s: float
    rest_s: float

    def __str__(self) -> str:
        return f"{' and '.join(self.faults)} for {self.lasts_s:.2f} s, rest {self.rest_s:.2f} s"


@dataclass(frozen=True)
class Schedule:
    """Everything that a seed decides."""

    seed: int
    is_private: bool
    api_processes: int
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        store = "a private server" if self.is_private else "a given server behind a line"
        head = f"seed {self.seed}: {self.api_processes} api processes, {store}"
        return "\n  ".join((head, *map(str, self.steps)))


def drawn(seed: int) -> Schedule:
    """Return the schedule of a seed."""
    rng = random.Random(seed)  # noqa: S311 - it can be repeated
    is_private, api_processes = rng.random() < PRIVATE, rng.choice((1, 2, 2))
    bag = [
        name
        for name, fault in FAULTS.items()
        if name not in LOSSES and not (is_private and fault.given_only)
    ]
    bag = bag * MOST_OF_ONE
    rng.shuffle(bag)
    steps = []
    for _ in range(rng.randint(*STEPS)):
        names = {bag.pop()} | ({bag.pop()} if rng.random() < TOGETHER else set())
        steps.append(_step(rng, tuple(sorted(names))))
    if not is_private and rng.random() < LOSS:
        # alone: what may be lost then is known
        steps.insert(rng.randint(1, len(steps)), _step(rng, (rng.choice(LOSSES),)))
    return Schedule(seed, is_private, api_processes, tuple(steps))


def _step(rng: random.Random, names: tuple[str, ...]) -> Step:
    lasts = any(FAULTS[name].lasts for name in names)
    # a few last longer than a lease and the watchdog's patience
    longest = 8.0 if rng.random() < 0.1 else 2.5
    return Step(names, rng.uniform(0.1, longest) if lasts else 0.0, rng.uniform(0.0, 1.0))
