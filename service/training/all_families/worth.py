"""Which families are worth training: those that add to the stack of the others on the hold-out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from core.gate import LEVEL, Interval, paired_interval
from core.types import F64


class Gains(Protocol):
    """Measures the stack of some rankers; ``Contest`` does."""

    def gains(self, names: Sequence[str]) -> F64:
        """Return the gain of each held-out user, (users,)."""


@dataclass(frozen=True)
class Worth:
    """What a recipe adds to the recipes that were chosen before it."""

    added: Interval
    chosen: bool
    beside: tuple[str, ...]
    """The recipes chosen before."""

    @property
    def says(self) -> str:
        """Return it in words."""
        added = self.added
        figures = f"{added.mean:+.4f}, 95 % interval {added.low:+.4f} to {added.high:+.4f}"
        others = ", ".join(self.beside) or "what is counted"
        much = "adds" if self.chosen else "adds nothing certain"
        return f"{much} to {others}: {figures}"


def worth(
    gains: Gains,
    base: Sequence[str],
    strategies: Mapping[str, str],
    seed: int,
    *,
    level: float = LEVEL,
) -> dict[str, Worth]:
    """Choose recipes one after the other, each time the one that adds most to those before.

    ``strategies`` has the family of each recipe; of one family at most one recipe is chosen. It
    ends when nothing that is left adds more than the noise: the lower end of the paired interval
    over users, at this level, is above 0. What was not chosen has the figures of the last round.

    >>> class Added:
    ...     def gains(self, names):
    ...         return np.full(9, 0.5 * ("a" in names) + 0.1 * ("b" in names))
    >>> found = worth(Added(), [], {"a": "x", "b": "y", "c": "z"}, 0)
    >>> [name for name, one in found.items() if one.chosen]
    ['a', 'b']
    """
    found: dict[str, Worth] = {}
    chosen: list[str] = []
    now = gains.gains(base)
    left = dict(strategies)
    while left:
        scores = {name: gains.gains([*base, *chosen, name]) for name in left}
        beside = tuple(chosen)
        for name, score in scores.items():
            added = paired_interval(score, now, np.random.default_rng(seed))
            found[name] = Worth(added, chosen=False, beside=beside)
        best = max(scores, key=lambda name: found[name].added.mean)
        if _low(scores[best], now, seed, level) <= 0.0:
            break
        found[best] = Worth(found[best].added, chosen=True, beside=beside)
        chosen.append(best)
        now = scores[best]
        left = {name: one for name, one in left.items() if one != strategies[best]}
    return {name: found[name] for name in [*chosen, *(n for n in strategies if n not in chosen)]}


def _low(score: F64, now: F64, seed: int, level: float) -> float:
    return paired_interval(score, now, np.random.default_rng(seed), level=level).low
