"""Named single experts, and the candidates that the paper's protocol tries for open parameters.

Owns default parameters and grids; the caller learns with the candidates and chooses.
"""

from dataclasses import replace
from itertools import product
from typing import Literal, TypedDict, cast

from core.online.experts import Init, PassiveAggressive, Step, Variant

Single = Literal["nn-apa-diag", "nn-apa-full", "nn-pa", "sgd"]


class Given(TypedDict, total=False):
    """Parameters that the caller has set."""

    c: float
    eps: float
    delta: float


DEFAULTS: dict[Single, PassiveAggressive] = {
    "nn-apa-diag": PassiveAggressive(metric="diag", c=0.02, eps=0.01, delta=0.1),
    "nn-apa-full": PassiveAggressive(metric="full", c=0.1, eps=0.01, delta=0.1),
    "nn-pa": PassiveAggressive(metric="identity", c=0.01, eps=0.0),
    "sgd": PassiveAggressive(metric="sgd", c=0.01, eps=0.0),
}
"""Parameters that are good on several data sets with the default initial values."""

MEASURED: dict[tuple[Single, int], Given] = {
    ("nn-pa", 5): {"c": 0.05, "eps": 0.5},
    ("nn-pa", 10): {"c": 0.02, "eps": 0.1},
    ("nn-apa-diag", 5): {"c": 0.05, "eps": 0.0, "delta": 0.01},
    ("nn-apa-full", 5): {"c": 0.1},
    ("nn-apa-full", 10): {"c": 0.05},
}
"""Parameters that reproduce the paper's figures from its initial U[0, 1), by model and rank."""

_C = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
GRID: dict[Single, dict[str, tuple[float, ...]]] = {
    "nn-apa-diag": {"c": _C, "eps": (0.0, 0.1, 0.5), "delta": (0.01, 0.03, 0.1, 0.3, 1.0)},
    "nn-apa-full": {"c": (0.01, 0.05, 0.1, 0.5, 1.0), "eps": (0.0, 0.1), "delta": (0.01, 0.1, 1.0)},
    "nn-pa": {"c": _C, "eps": (0.0, 0.1, 0.5)},
    "sgd": {"c": (0.003, 0.01, 0.02, 0.05, 0.1), "eps": (0.0,)},
}
"""Ranges of the paper [NN-APA, 5.1.4] for parameters neither given nor measured.

They are coarser for the full matrix.
"""


def single(
    name: Single,
    *,
    rank: int,
    variant: Variant = "pa2",
    step: Step = "clip",
    given: Given,
) -> PassiveAggressive:
    """Return one expert with default initial values and default parameters, except those given."""
    return replace(DEFAULTS[name], rank=rank, variant=variant, step=step, **given)


def candidates(
    name: Single,
    *,
    rank: int,
    variant: Variant = "pa2",
    step: Step = "clip",
    given: Given,
) -> tuple[PassiveAggressive, ...]:
    """Return the experts to choose from, with the paper's initial values.

    There is a single one if all parameters are settled.

    >>> len(candidates("nn-pa", rank=5, given={}))
    1
    >>> len(candidates("nn-pa", rank=15, given={"eps": 0.1}))
    10
    """
    init: Init = "paper"
    settled = Given(**{**MEASURED.get((name, rank), Given()), **given})
    start = replace(DEFAULTS[name], rank=rank, variant=variant, step=step, init=init, **settled)
    open_ = {key: values for key, values in GRID[name].items() if key not in settled}
    return tuple(
        replace(start, **cast("Given", dict(zip(open_, values, strict=True))))
        for values in product(*open_.values())
    )
