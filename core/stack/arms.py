"""The arms above a stack: the stack, the fusion of ranks, and each family; Hedge chooses one.

An arm that ranks worse than another does not serve for long. Each arm has a list for every judged
event, if it knows the user; its gain is the reciprocal rank of the item that was taken. For each
range of history lengths the heaviest arm answers.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from core.mixture_weights import Weights
from core.stack.logit import Logit

STACK, FUSION = "stack", "fusion"
"""The arms that are not a family."""
CLEARLY = 3.0
"""Ratio of weights by which another arm must be ahead of the stack to answer instead."""
ARM_LENGTHS = (0, 3, 8, 20)
"""Lower bounds of the ranges of history lengths.

There are more short ones than for the weights of a fusion: what answers a new user best changes
with each of the first events."""
LEAD = 0.5
"""Weight of the arm that answers before any was judged; the others share the rest."""


@dataclass(frozen=True, eq=False)
class Arms:
    """The weights of the stack, and of the arms."""

    logit: Logit | None = None
    """None: there is no stack yet."""
    weights: Weights = field(default_factory=lambda: Weights(lengths=ARM_LENGTHS))

    def best(self, n: int, able: Collection[str]) -> str:
        """Return the heaviest of the arms that are able to answer, for n preferences.

        The stack gives way only to an arm that is ``CLEARLY`` heavier: where it is as good as
        another, its probabilities are worth more than scores without a scale.

        >>> weights = Weights({"stack": 0.1, "fusion": 0.4, "fbgd": 0.5})
        >>> Arms(None, weights).best(7, ["stack", "fusion"])
        'fusion'
        """
        weight = self.weights.of(n)
        best = max((arm for arm in weight if arm in able), key=weight.__getitem__, default=FUSION)
        if STACK in able and CLEARLY * weight.get(STACK, 0.0) >= weight.get(best, 1.0):
            return STACK
        return best


def first_arms(families: Collection[str], *, has_stack: bool) -> Weights:
    """Return the weights before anything was judged: the stack leads if there is one.

    >>> first_arms(["fbgd"], has_stack=True).shared
    {'stack': 0.5, 'fusion': 0.25, 'fbgd': 0.25}
    """
    names = [*([STACK] if has_stack else []), FUSION, *families]
    if len(names) == 1:
        return Weights({FUSION: 1.0}, lengths=ARM_LENGTHS)
    rest = (1.0 - LEAD) / (len(names) - 1)
    weight = {name: LEAD if at == 0 else rest for at, name in enumerate(names)}
    return Weights(weight, lengths=ARM_LENGTHS)


def with_arms(weights: Weights, families: Collection[str], *, has_stack: bool) -> Weights:
    """Return the weights for exactly these families; a new arm begins with the smallest weight."""
    names = [*([STACK] if has_stack else []), FUSION, *families]
    if not weights.shared.keys() & set(names):
        return first_arms(families, has_stack=has_stack)
    shared = _filled(weights.shared, names)
    by_length = {n: _filled(one, names) for n, one in weights.by_length.items()}
    return Weights(shared, by_length, ARM_LENGTHS)


def with_first_stack(weights: Weights, families: Collection[str]) -> Weights:
    """Return the weights with a stack that is not judged yet: as heavy as the heaviest arm.

    >>> with_first_stack(Weights({"fusion": 0.8, "fbgd": 0.2}), ["fbgd"]).shared["stack"] > 0.4
    True
    """
    if not weights.shared:
        return first_arms(families, has_stack=True)
    by_length = {n: _leading(one) for n, one in weights.by_length.items()}
    return Weights(_leading(weights.shared), by_length, ARM_LENGTHS)


def _leading(weight: Mapping[str, float]) -> dict[str, float]:
    found = {**weight, STACK: max(weight.values())}
    total = sum(found.values())
    return {name: value / total for name, value in found.items()}


def _filled(weight: Mapping[str, float], names: Collection[str]) -> dict[str, float]:
    least = min(weight.values())
    found = {name: weight.get(name, least) for name in names}
    total = sum(found.values())
    return {name: value / total for name, value in found.items()}
