"""Settings of the label models; each is checked on construction."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

from core.errors import ConfigError
from core.recipe_settings import MOST_POINT_FACTORS, RecipeSettings

Variant = Literal["exmlds1", "exmlds2", "exmlds3", "exmlds4"]
Optimiser = Literal["adagrad", "adam"]
Start = Literal["regression", "random"]

INF = float("inf")


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{name} must be in {low:g} .. {high:g}, not {value}")


@dataclass(frozen=True)
class Votes:
    """Settings of prediction by neighbours' votes and by the labels' own vectors.

    >>> ExmldsConfig(votes=Votes(neighbours=20)).votes.sharpness
    20.0
    """

    neighbours: int = 100
    """Number of nearest training points (by cosine) that vote."""
    sharpness: float = 20.0
    """Decay of votes by distance; 0: equal votes, as in the paper.

    A vote weighs exp(sharpness (cosine - best cosine)).
    """
    blend: float = 1.0
    """Weight of the labels' own scores; 0: votes only.

    Both scores are normalised to length 1 per point.
    """

    def __post_init__(self) -> None:
        _check("neighbours", self.neighbours, 1, INF)
        _check("sharpness", self.sharpness, 0.0, 1e4)
        _check("blend", self.blend, 0.0, 1e6)


@dataclass(frozen=True)
class Descent:
    """Settings of gradient descent for the variants that learn from a point's label neighbours.

    >>> ExmldsConfig(variant="exmlds4", descent=Descent(epochs=2)).descent.optimiser
    'adagrad'
    """

    context: int = 10
    """Number of points with the most similar labels that are a point's positives."""
    negatives: int = 10
    """Number of random points per positive (ExMLDS2), or per point (ExMLDS4)."""
    negative_weight: float = 1.0
    """Total weight of these negatives, relative to the positives they accompany."""
    scale: float = 10.0
    """gamma: factor of the cosine (ExMLDS4)."""
    epochs: int = 5
    """Number of epochs; 0: ExMLDS4 stays at its initial regression."""
    learning_rate: float = 0.01
    optimiser: Optimiser = "adagrad"
    start: Start = "regression"
    """Initial weights of ExMLDS4: the regression of ExMLDS1, or random numbers as in the paper."""

    def __post_init__(self) -> None:
        for name, least in (("context", 1), ("negatives", 1), ("epochs", 0)):
            _check(name, getattr(self, name), least, 100_000)
        for name in ("negative_weight", "scale", "learning_rate"):
            _check(name, getattr(self, name), 1e-9, 1e6)
        if self.optimiser not in get_args(Optimiser):
            raise ConfigError(f"optimiser must be {' or '.join(get_args(Optimiser))}")
        if self.start not in get_args(Start):
            raise ConfigError(f"start must be {' or '.join(get_args(Start))}")


@dataclass(frozen=True)
class Mix:
    """Weights of the kinds of co-occurrence in the joint matrix of points and labels.

    >>> ExmldsConfig(variant="exmlds3", mix=Mix(labels=0.5)).mix.points
    1.0
    """

    labels: float = 1.0
    """mu1: weight of label-label co-occurrence."""
    points: float = 1.0
    """mu2: weight of point-point co-occurrence."""
    members: float = 1.0
    """mu3: weight of point-label membership."""

    def __post_init__(self) -> None:
        if not all(0.0 < one < INF for one in (self.labels, self.points, self.members)):
            raise ConfigError("the weights of the joint matrix must be above 0")


@dataclass(frozen=True)
class ExmldsConfig:
    """Settings of one fit.

    >>> ExmldsConfig(factors=20, votes=Votes(neighbours=10)).variant
    'exmlds1'
    """

    variant: Variant = "exmlds1"
    factors: int = 100
    """Dimension of the embedding."""
    shift: float = 1.0
    """Shift of the mutual information by -log(shift); above 1, only strong associations remain."""
    reg: float = 1.0
    """Regularisation of the regression of vectors on features, whose rows have length 1."""
    l1: float = 0.0
    """L1 penalty on fitted vectors; above 0, the regression uses ADMM and leaves zeros in them."""
    rho: float = 0.1
    sweeps: int = 30
    """Penalty parameter and number of sweeps of ADMM."""
    landmarks: int = 0
    """Number of non-linear features, which are centres of k-means; 0: none."""
    gamma: float = 1.0
    """Width parameter of their kernel exp(-gamma |x - c|^2)."""
    clusters: int = 0
    """Number of clusters of points, each embedded separately; 0: one per 12,000 points."""
    learners: int = 1
    """Number of models whose votes are added; they differ in their random numbers only."""
    votes: Votes = field(default_factory=Votes)
    descent: Descent = field(default_factory=Descent)
    mix: Mix = field(default_factory=Mix)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.variant not in get_args(Variant):
            raise ConfigError(f"variant must be one of {', '.join(get_args(Variant))}")
        _check("factors", self.factors, 1, MOST_POINT_FACTORS)
        _check("shift", self.shift, 1e-6, 1e6)
        _check("reg", self.reg, 1e-9, 1e9)
        _check("l1", self.l1, 0.0, 1e9)
        _check("rho", self.rho, 1e-9, 1e9)
        _check("sweeps", self.sweeps, 1, 10_000)
        _check("landmarks", self.landmarks, 0, 100_000)
        _check("gamma", self.gamma, 1e-9, 1e9)
        _check("clusters", self.clusters, 0, 1_000_000)
        _check("learners", self.learners, 1, 1_000)
        _check("seed", self.seed, 0, INF)
        if self.variant == "exmlds2" or self.descent.start == "random":
            _check("epochs", self.descent.epochs, 1, INF)


_OWN: dict[Variant, dict[str, Any]] = {
    "exmlds1": {},
    "exmlds2": {
        "descent": Descent(
            context=50, negatives=15, negative_weight=15.0, epochs=10, learning_rate=0.1
        )
    },
    "exmlds3": {},
    "exmlds4": {"descent": Descent(context=25, negatives=25, epochs=2, learning_rate=0.003)},
}


def standard(variant: Variant, seed: int = 0) -> ExmldsConfig:
    """Return the settings from which the search of a variant starts.

    >>> standard("exmlds2").descent.epochs
    10
    """
    return ExmldsConfig(variant=variant, seed=seed, **_OWN[variant])


_GROUPS = {
    name: {one.name for one in fields(kind)}
    for name, kind in (("votes", Votes), ("descent", Descent), ("mix", Mix))
}


def with_settings(config: ExmldsConfig, settings: Mapping[str, Any]) -> ExmldsConfig:
    """Return the configuration with these settings, whichever group they belong to."""
    grouped: dict[str, Any] = {}
    for group, names in _GROUPS.items():
        if own := {name: value for name, value in settings.items() if name in names}:
            grouped[group] = replace(getattr(config, group), **own)
    known = set().union(*_GROUPS.values())
    rest = {name: value for name, value in settings.items() if name not in known}
    return replace(config, **grouped, **rest)


def settings_of(config: ExmldsConfig) -> dict[str, Any]:
    """Return all settings as one flat mapping."""
    flat = {name: value for name, value in vars(config).items() if name not in _GROUPS}
    for group in _GROUPS:
        flat |= vars(getattr(config, group))
    return flat


@dataclass(frozen=True)
class ItemsConfig:
    """Settings of one fit; the defaults suit users with a few dozen items."""

    factors: int = 40
    shift: float = 1.0
    reg: float = 1.0
    neighbours: int = 400
    sharpness: float = 20.0
    blend: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        _ = self.exmlds

    @property
    def exmlds(self) -> ExmldsConfig:
        """Return the settings of the label model."""
        votes = Votes(self.neighbours, self.sharpness, self.blend)
        return ExmldsConfig(
            factors=self.factors,
            shift=self.shift,
            reg=self.reg,
            clusters=1,
            votes=votes,
            seed=self.seed,
        )


RECIPES = (RecipeSettings("exmlds", ItemsConfig(), tuple(one.name for one in fields(ItemsConfig))),)

_POINTS = tuple(name for name in settings_of(ExmldsConfig()) if name != "variant")
POINT_RECIPES = tuple(
    RecipeSettings(
        variant,
        standard(variant),
        _POINTS,
        most_factors=MOST_POINT_FACTORS,
        changed=with_settings,
        flat=settings_of,
    )
    for variant in _OWN
)
"""Recipes for labelled points, for ``hedgerow eval labels``; a service does not train them."""
