"""The settings of one-class factorisation and of its recipes.

This module imports no code that fits, so that a process without training can check settings.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from core.batch.losses import NAMED, Loss, RowLoss
from core.errors import ConfigError
from core.recipe_settings import MOST_POINT_FACTORS, RecipeSettings
from core.search.bounds import check_bounds

Negatives = Literal["all", "sampled", "listed"]

_CHOICES = {
    "solver": ("newton", "gradient"),
    "negatives": ("all", "sampled", "listed"),
    "negative_loss": ("square", "logistic"),
}


@dataclass(frozen=True)
class OcmfConfig:
    """Settings of one fit.

    >>> OcmfConfig(loss="square", factors=16).rounds
    5
    """

    loss: Literal["square", "logistic", "squared-hinge"] | Loss = "logistic"
    """Loss of a positive pair: a name, or any convex differentiable ``losses.Loss``.

    Serving can fold in with square and logistic alone.
    """
    factors: int = 64
    weight: float = 0.1
    """Weight of an unobserved pair, in units of the mean weight of the positives; at most 1."""
    target: float = 0.0
    """Score to which unobserved pairs are pulled; the paper uses 0 and -1."""
    reg: float = 1.0
    reg_item: float | None = None
    """Regularisation of the items; None: the same as ``reg``."""
    nu: float = 0.0
    """Exponent of the regularisation of a row without features: reg (count / mean count)^nu."""
    graph: float = 0.0
    """Strength with which linked users are pulled together, as a multiple of ``reg``."""
    rounds: int = 5
    """Number of times that the users are solved; the items are solved in between."""
    solver: Literal["newton", "gradient"] = "newton"
    """Method that solves each side: Newton's method, or gradient descent with line search."""
    negatives: Negatives = "all"
    """Unlabelled pairs that serve as negatives.

    ``all`` sums up all of them at once, ``listed`` lists all of them one by one, and ``sampled``
    draws as many at random as there are positives.
    """
    negative_loss: Literal["square", "logistic"] = "square"
    """Loss of a sampled or listed negative."""
    shrinkage: float = 0.0
    """Strength of the shrinkage of short histories to the mean user (``core.batch.shrinkage``).

    ``recommend`` does not shrink if the fit has features or a graph.
    """
    seed: int = 0

    def __post_init__(self) -> None:
        check_bounds(
            self,
            counts=("factors", "rounds"),
            above_0=("weight", "reg") if self.reg_item is None else ("weight", "reg", "reg_item"),
            from_0=("graph", "shrinkage"),
            shares=("nu",),
            finite=("target",),
        )
        if self.weight > 1.0:
            raise ConfigError(
                f"weight must not exceed 1, not {self.weight}: a positive pair weighs 1"
            )
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise ConfigError(f"{name} must be one of {', '.join(known)}")
        if not isinstance(self.loss, Loss) and self.loss not in list(NAMED):
            raise ConfigError(
                f"loss must be one of {', '.join(NAMED)}, or have value, slope and curvature"
            )
        if self.shrinkage > 0.0 and self.row_loss is None:
            raise ConfigError("shrinkage needs loss square or logistic: set shrinkage to 0")
        if self.negatives == "all" and self.negative_loss != "square":
            raise ConfigError(
                "negatives all needs negative_loss square: use that, or list or sample them"
            )
        if self.loss != "logistic" and self.negative_loss != "square":
            raise ConfigError("negative_loss logistic needs loss logistic")

    @property
    def row_loss(self) -> RowLoss | None:
        """Return the name of the loss if the kernels support it.

        With None the users can only be solved as a whole side, and serving cannot fold users in.
        """
        return next((name for name in get_args(RowLoss) if name == self.loss), None)


@dataclass(frozen=True)
class LabelConfig:
    """Settings of one fit on labelled points."""

    model: OcmfConfig
    landmarks: int = 0
    """Number of centres of non-linear features."""
    gamma: float = 1.0
    """Scale of their kernel exp(-gamma |x - c|^2), for rows of length 1."""

    def __post_init__(self) -> None:
        check_bounds(self, above_0=("gamma",), from_0=("landmarks",))


Use = Literal["cold", "beside", "made"]
"""The use of users' features.

``cold``: for users without pairs only. ``beside``: vectors are fitted to the pairs, then features
are regressed to the vectors and count as one event of a history. ``made``: the vector of a user is
a linear function of the features, as in the paper.
"""


@dataclass(frozen=True)
class FeatureUse:
    """Settings of a fit, and its use of users' features if there are any.

    Links are used if ``graph`` is set.
    """

    config: OcmfConfig
    use: Use = "beside"

    def __post_init__(self) -> None:
        if self.use not in get_args(Use):
            raise ConfigError(f"features must be one of {', '.join(get_args(Use))}")


def with_settings(used: FeatureUse, settings: Mapping[str, Any]) -> FeatureUse:
    """Return the configuration with these settings; ``features`` is the name of the use."""
    of_fit = {name: value for name, value in settings.items() if name != "features"}
    return FeatureUse(replace(used.config, **of_fit), settings.get("features", used.use))


def settings_of(used: FeatureUse) -> Mapping[str, Any]:
    """Return the settings of the fit and the use of features as one flat mapping."""
    return {**vars(used.config), "features": used.use}


_STATED = (
    "factors",
    "weight",
    "target",
    "reg",
    "reg_item",
    "nu",
    "rounds",
    "graph",
    "shrinkage",
    "seed",
)


def _recipe(name: str, base: OcmfConfig, *fixed: str) -> RecipeSettings[FeatureUse]:
    return RecipeSettings(
        name,
        FeatureUse(base),
        tuple(setting for setting in _STATED if setting not in fixed),
        offline=("solver", "features"),
        # serving uses features beside the pairs, and links only through the item factors
        kept=("features", "graph"),
        fixed=frozenset(fixed),
        changed=with_settings,
        flat=settings_of,
    )


RECIPES = (
    _recipe("ocmf-lr-wsq", OcmfConfig(loss="logistic")),
    _recipe("ocmf-sq-wsq", OcmfConfig(loss="square")),
    # the weight of 1 defines this recipe
    _recipe("ocmf-sq-sq", OcmfConfig(loss="square", weight=1.0), "weight"),
)


def with_label_settings(config: LabelConfig, settings: Mapping[str, Any]) -> LabelConfig:
    """Return the configuration with these settings, of the feature map or of the model."""
    of_map = {name: value for name, value in settings.items() if name in ("landmarks", "gamma")}
    of_model = {name: value for name, value in settings.items() if name not in of_map}
    return replace(config, **of_map, model=replace(config.model, **of_model))


def label_settings_of(config: LabelConfig) -> Mapping[str, Any]:
    """Return all settings as one flat mapping."""
    return {**vars(config.model), "landmarks": config.landmarks, "gamma": config.gamma}


_LABELS = (
    "factors",
    "weight",
    "target",
    "reg",
    "reg_item",
    "rounds",
    "landmarks",
    "gamma",
    "negatives",
    "negative_loss",
    "solver",
    "seed",
)


def _of_labels(name: str, base: OcmfConfig, *fixed: str) -> RecipeSettings[LabelConfig]:
    return RecipeSettings(
        name,
        LabelConfig(base),
        tuple(setting for setting in _LABELS if setting not in fixed),
        most_factors=MOST_POINT_FACTORS,
        fixed=frozenset(fixed),
        changed=with_label_settings,
        flat=label_settings_of,
    )


POINT_RECIPES = (
    _of_labels("ocmf-lr-wsq", OcmfConfig(loss="logistic", weight=0.1, reg=0.1, rounds=1)),
    _of_labels("ocmf-sq-wsq", OcmfConfig(loss="square", weight=0.3, reg=0.3, rounds=1)),
    _of_labels("ocmf-sq-sq", OcmfConfig(loss="square", weight=1.0, reg=0.3, rounds=1), "weight"),
)
"""Recipes for labelled points, for ``hedgerow eval labels`` only: no server trains them."""
