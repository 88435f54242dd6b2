"""Experts, each with frozen settings; a set of experts is a tuple of them, and two sets have names.

Figures and reasons: docs/explanation/online-learning.md. ``c`` is the paper's aggressiveness, on
ratings of 1..5.
"""

from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal

from core.errors import ConfigError

Variant = Literal["pa", "pa1", "pa2"]
Step = Literal["clip", "exact"]
Init = Literal["default", "paper"]


MOST_RANK = 1_024
"""Maximum rank of an expert."""


def _need(
    expert: object, least: float, *names: str, above: bool = False, most: float = inf
) -> None:
    """Raise ConfigError unless all named settings are finite and between ``least`` and ``most``.

    With ``above``, a setting equal to ``least`` is refused too.
    """
    for name in names:
        value = getattr(expert, name)
        if not isfinite(value) or value < least or value > most or (above and value == least):
            bounds = f"{'above' if above else 'at least'} {least:g}"
            bounds += f" and at most {most:g}" if isfinite(most) else ""
            raise ConfigError(f"{name} of {type(expert).__name__} must be {bounds}, not {value}")


@dataclass(frozen=True)
class PassiveAggressive:
    """SGD, NN-PA or NN-APA: non-negative factors, no biases [NN-APA, Alg. 1].

    >>> PassiveAggressive(metric="identity", rank=5, c=0.05).variant
    'pa2'
    """

    metric: Literal["sgd", "identity", "diag", "full"] = "diag"
    rank: int = 10
    c: float = 0.02
    """Aggressiveness; the learning rate for ``sgd``."""
    eps: float = 0.01
    delta: float = 1.0
    variant: Variant = "pa2"
    step: Step = "clip"
    cap: float = float("inf")
    """Upper bound on the loss, in rating units."""
    init: Init = "default"
    """default: sqrt(3.5 / rank) with 5 % noise; paper: U[0, 1)."""


@dataclass(frozen=True)
class Biased:
    """Diagonal APA-II with a bias coordinate and factors that may be negative.

    >>> Biased(rank=24, c_bias=0.125, c_factor=0.1).cap
    1.5
    """

    rank: int
    c_bias: float
    c_factor: float
    delta_bias: float = 0.87
    delta_factor: float = 0.2
    eps: float = 0.01
    cap: float = 1.5
    noise: float = 0.02
    bias_decay: float = 0.015
    joint: bool = True
    """Whether both sides share one step size; otherwise each side has its own."""

    def __post_init__(self) -> None:
        _need(self, 1, "rank", most=MOST_RANK)
        _need(self, 0, "c_bias", "c_factor", "delta_bias", "delta_factor", "cap", above=True)
        _need(self, 0, "eps", "noise", "bias_decay")


@dataclass(frozen=True)
class Resolved:
    """Like Biased with separate step sizes; the user row is re-solved as the history grows.

    A solution is a ridge regression on the user's latest ratings.

    >>> Resolved(rank=16).reg
    6.0
    """

    rank: int = 24
    c_bias: float = 0.1
    c_factor: float = 0.08
    delta_bias: float = 1.0
    delta_factor: float = 0.2
    eps: float = 0.01
    cap: float = 1.2
    noise: float = 0.03
    reg: float = 6.0
    """Ridge penalty of the bias and of every factor."""
    growth: float = 1.2
    """Growth of the user's number of ratings after which the row is solved again."""

    def __post_init__(self) -> None:
        _need(self, 1, "rank", most=MOST_RANK)
        _need(self, 0, "c_bias", "c_factor", "delta_bias", "delta_factor", "cap", "reg", above=True)
        _need(self, 0, "eps", "noise")
        _need(self, 1, "growth")


@dataclass(frozen=True)
class Kalman:
    """Bias and factors with a full covariance on each side; rank 0 means the bias alone.

    >>> bias_alone = Kalman(0, 0.5, 0.0, noise_variance=0.7, clip_sigmas=1.0)
    >>> bias_alone.rank
    0
    """

    rank: int
    bias_variance: float
    factor_variance: float
    noise_variance: float
    clip_sigmas: float
    user_noise: float = 0.05
    item_noise: float = 0.112

    def __post_init__(self) -> None:
        _need(self, 0, "rank", most=64)
        _need(self, 0, "bias_variance", "noise_variance", "clip_sigmas", above=True)
        _need(self, 0, "factor_variance", above=self.rank > 0)
        _need(self, 0, "user_noise", "item_noise")


Expert = PassiveAggressive | Biased | Resolved | Kalman

PAPER_SMALL: tuple[Expert, ...] = tuple(
    PassiveAggressive(rank=rank, c=c) for rank in (5, 10, 15) for c in (0.01, 0.05, 0.4, 0.8, 5.0)
)
"""The paper's 15 experts for small data sets [NN-APA, 5.1.3]."""

DEFAULT: tuple[Expert, ...] = (
    PassiveAggressive(rank=10, c=0.02, delta=1.0, eps=0.01, cap=1.5),
    Biased(rank=24, c_bias=0.125, c_factor=0.1),
    Biased(rank=16, c_bias=0.03125, c_factor=0.1),
    Kalman(rank=5, bias_variance=0.74, factor_variance=0.2, noise_variance=0.59, clip_sigmas=1.5),
    Kalman(rank=0, bias_variance=0.5, factor_variance=0.0, noise_variance=0.7, clip_sigmas=1.0),
    Resolved(),
)
"""D1: experts that differ in aggressiveness and in the kind of their errors."""
