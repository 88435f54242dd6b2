"""Settings that determine the arithmetic of an online model.

They are the set of experts, the aggregator, the scale and the seed.
"""

import hashlib
from dataclasses import dataclass, fields
from typing import Literal

from core.errors import ConfigError
from core.online.experts import DEFAULT, Expert, PassiveAggressive
from core.scale import FIVE_STARS, Scale

AggregatorName = Literal["stack", "hedge", "boa", "eg", "uniform"]

ARITHMETIC = 1
"""Version of the arithmetic, part of the fingerprint.

Raise it with every change that gives rows or state another meaning.
"""


@dataclass(frozen=True)
class OnlineConfig:
    """All settings of the arithmetic; equal configurations give the same bits.

    >>> OnlineConfig(aggregator="hedge", scale=Scale(0.5, 5)).seed
    0
    """

    experts: tuple[Expert, ...] = DEFAULT
    aggregator: AggregatorName = "stack"
    scale: Scale = FIVE_STARS
    seed: int = 0
    beta: float = 0.999
    """Hedge's decay per unit of loss, where a loss is a quarter of the absolute error."""
    rho: float | None = None
    """Least probability of an update in NN-APA(m); None: all experts learn from every rating."""
    share: float = 1e-6
    """Fixed share of hedge, boa and eg: the share of the weights spread evenly at every event.

    For comparison: at beta = .999, one event changes the weights of experts whose errors differ by
    .05 by 1e-5.
    """
    clip: bool = True
    """Clip predictions to the scale."""

    def __post_init__(self) -> None:
        if not self.experts:
            raise ConfigError("the set of experts is empty: give at least one")
        if self.aggregator not in {"stack", "hedge", "boa", "eg", "uniform"}:
            raise ConfigError(
                f"no aggregator {self.aggregator!r}: stack, hedge, boa, eg or uniform"
            )
        if not 0 <= self.seed < 2**63:
            raise ConfigError(f"seed must be in 0 .. 2^63 - 1, not {self.seed}")
        if not 0.0 < self.beta < 1.0:
            raise ConfigError(f"beta must be above 0 and below 1, not {self.beta}")
        if not 0.0 <= self.share < 1.0:
            raise ConfigError(f"share must be at least 0 and below 1, not {self.share}")
        if self.rho is not None:
            self._check_sampling(self.rho)

    def _check_sampling(self, rho: float) -> None:
        if not 0.0 < rho <= 1.0:
            raise ConfigError(f"rho must be above 0 and at most 1, not {rho}")
        diagonal = {"sgd", "identity", "diag"}
        if not all(isinstance(e, PassiveAggressive) and e.metric in diagonal for e in self.experts):
            raise ConfigError(
                "sampled updates (rho) need a set of NN-PA, diagonal NN-APA and SGD experts only: "
                "use rho=None for other sets"
            )


def fingerprint(config: OnlineConfig) -> bytes:
    """Return 8 bytes that differ for configurations with different arithmetic."""
    settings = [(f.name, getattr(config, f.name)) for f in fields(config)]
    return hashlib.blake2b(repr((ARITHMETIC, settings)).encode(), digest_size=8).digest()
