"""The settings of context models and of their recipes.

This module imports no code that fits, so that a process without training can check settings.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from core.errors import ConfigError
from core.recipe_settings import RecipeSettings
from core.search.bounds import check_bounds

Kind = Literal["mf", "svdfeature", "pitf", "cp"]
KINDS: tuple[Kind, ...] = ("mf", "svdfeature", "pitf", "cp")


@dataclass(frozen=True)
class DescentConfig:
    """Settings of the gradient descent; the paper uses Adagrad with a learning rate of 0.05.

    >>> DescentConfig(optimiser="plain", learning_rate=0.02).learning_rate
    0.02
    """

    optimiser: Literal["adagrad", "plain"] = "adagrad"
    learning_rate: float = 0.1
    epsilon: float = 1e-7
    epochs: int = 40
    alpha0: float = 500.0
    """Total weight of all unobserved pairs of a context."""
    rho: float = 0.0
    reg: float = 0.1
    nu: float = 0.0
    """Exponent of the regularisation of a parameter's row: reg (its pairs / mean pairs)^nu."""
    negative_target: float = 0.0
    start: float = 0.1
    """Standard deviation of the initial parameters, times sqrt(g)."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.optimiser not in {"adagrad", "plain"}:
            raise ConfigError(f"optimiser must be adagrad or plain, not {self.optimiser!r}")
        check_bounds(
            self,
            counts=("epochs",),
            above_0=("learning_rate", "epsilon", "alpha0", "start"),
            from_0=("reg",),
            shares=("rho", "nu"),
            finite=("negative_target",),
        )


@dataclass(frozen=True)
class ContextConfig:
    """Kind and size of a context model, and the settings of its descent.

    >>> ContextConfig("pitf", factors=16).descent.epochs
    40
    """

    kind: Kind
    factors: int = 32
    descent: DescentConfig = field(default_factory=DescentConfig)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"kind must be one of {', '.join(KINDS)}, not {self.kind!r}")
        check_bounds(self, counts=("factors",))


def with_settings(config: ContextConfig, settings: Mapping[str, Any]) -> ContextConfig:
    """Return the configuration with these settings, of the model or of its descent."""
    of_model = {name: value for name, value in settings.items() if name == "factors"}
    of_descent = {name: value for name, value in settings.items() if name != "factors"}
    return replace(config, **of_model, descent=replace(config.descent, **of_descent))


def settings_of(config: ContextConfig) -> Mapping[str, Any]:
    """Return the settings of the model and of its descent as one flat mapping."""
    return {"factors": config.factors, **vars(config.descent)}


_NAMES = ("factors", *(one.name for one in fields(DescentConfig)))
RECIPES = tuple(
    RecipeSettings(kind, ContextConfig(kind), _NAMES, changed=with_settings, flat=settings_of)
    for kind in KINDS
)
