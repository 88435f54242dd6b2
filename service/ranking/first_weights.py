"""The weights with which rankers begin: where the gate expects a new one, before it was judged.

A follower learns from them on. An api process uses them until it reads those of a follower that
knows the same rankers.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from core.mixture_weights import REMEMBERED, Weights, foreseen

SURE = 0.1
"""How far a family that is not trusted begins behind popularity, unless it was judged: it counts
once it has earned it."""


class TrainedModel(NamedTuple):
    """A trained model that serves, as the gate saw it."""

    version: str
    lead: float | None
    """Its mean reciprocal rank less that of popularity; None: nobody could judge it."""
    trusted: bool = True
    """See ``Family.trusted``."""


def begun(
    weights: Weights,
    judged: Mapping[str, int],
    trained: Mapping[str, TrainedModel],
    others: Collection[str],
) -> Weights:
    """Return the weights of exactly these rankers; those of each length begin again.

    ``weights`` are those so far, ``judged`` says how often each ranker was judged. They are reset
    to those that the gate expects, as long as no trained model has been judged ``REMEMBERED``
    times. Afterwards the others keep their learned weights, and a new ranker gets the ratio to the
    heaviest one that the gate expects.
    """
    most = max((n for name, n in judged.items() if name in trained), default=0)
    learned = weights.shared if most >= REMEMBERED else {}
    return Weights(of([*trained, *others], _joined_by(learned, trained, others)))


def of(names: Iterable[str], weight: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of these names alone, scaled to sum to 1."""
    kept = {name: weight[name] for name in names}
    total = sum(kept.values())
    return {name: value / total for name, value in kept.items()}


def _joined_by(
    learned: Mapping[str, float], trained: Mapping[str, TrainedModel], others: Iterable[str]
) -> dict[str, float]:
    """Return the learned weights, and for new names the expected ratio to the heaviest ranker."""
    expected = foreseen(_leads(trained) | dict.fromkeys(others, 0.0))
    if not learned:
        return expected
    first = max(learned, key=lambda name: learned[name])
    new = expected.keys() - learned.keys()
    ratio = {name: expected[name] / expected.get(first, expected[name]) for name in new}
    # without judgements there is no evidence that a model is better than the heaviest ranker
    known = {name for name in new if name not in trained or trained[name].lead is not None}
    return dict(learned) | {
        n: learned[first] * (ratio[n] if n in known else min(ratio[n], 1.0)) for n in new
    }


def _leads(trained: Mapping[str, TrainedModel]) -> dict[str, float]:
    """Return each model's lead over popularity; a trusted one without it gets the best lead.

    If nobody could judge any model, none leads.
    """
    best = max((one.lead for one in trained.values() if one.lead is not None), default=0.0)
    return {
        name: one.lead if one.lead is not None else best if one.trusted else -SURE
        for name, one in trained.items()
    }
