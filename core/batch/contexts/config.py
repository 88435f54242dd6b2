"""The settings of the models of contexts and of their recipes; this module loads no code that fits."""

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
    """Settings of a descent; the paper's are Adagrad at 0.05.

    >>> DescentConfig(optimiser="plain", learning_rate=0.02).learning_rate
    0.02
    """

    optimiser: Literal["adagrad", "plain"] = "adagrad"
    learning_rate: float = 0.1
    epsilon: float = 1e-7
    epochs: int = 40
    alpha0: float = 500.0
    """Weight of all unlabelled pairs of a context together."""
    rho: float = 0.0
    reg: float = 0.1
    nu: float = 0.0
    """Regularisation of a parameter's row is reg (pairs of the row / mean pairs)^nu."""
    negative_target: float = 0.0
    start: float = 0.1
    """Standard deviation of the first parameters, times sqrt(g)."""
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
    """Which model, how large, and how it descends.

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
    own = {name: value for name, value in settings.items() if name == "factors"}
    rest = {name: value for name, value in settings.items() if name != "factors"}
    return replace(config, **own, descent=replace(config.descent, **rest))


def settings_of(config: ContextConfig) -> Mapping[str, Any]:
    """Return the settings of the model and of its descent as one flat mapping."""
    return {"factors": config.factors, **vars(config.descent)}


_NAMES = ("factors", *(one.name for one in fields(DescentConfig)))
RECIPES = tuple(
    RecipeSettings(kind, ContextConfig(kind), _NAMES, changed=with_settings, flat=settings_of)
    for kind in KINDS
)
