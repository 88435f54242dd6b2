"""Settings of the label models, each checked where it is made."""

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

from core.errors import ConfigError
from core.recipe_settings import RecipeSettings

Variant = Literal["exmlds1", "exmlds2", "exmlds3", "exmlds4"]
Optimiser = Literal["adagrad", "adam"]
Start = Literal["regression", "random"]

INF = float("inf")


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{name} must be in {low:g} .. {high:g}, not {value}")


@dataclass(frozen=True)
class Votes:
    """How labels are read off a point's place: votes of its neighbours, and the labels' own places."""

    neighbours: int = 100
    """Training points of the nearest directions that vote."""
    sharpness: float = 20.0
    """A vote weighs exp(sharpness (cosine - best cosine)); 0: all alike, as in the paper."""
    blend: float = 1.0
    """Weight of the labels' own scores beside the votes, each a row of length 1; 0: votes alone."""

    def __post_init__(self) -> None:
        _check("neighbours", self.neighbours, 1, INF)
        _check("sharpness", self.sharpness, 0.0, 1e4)
        _check("blend", self.blend, 0.0, 1e6)


@dataclass(frozen=True)
class Descent:
    """Of the models that learn from a point's neighbours in label space, one step after the other."""

    context: int = 10
    """Points of the most alike labels that are a point's positives."""
    negatives: int = 10
    """Random points: beside each positive (ExMLDS2), or beside all of a point (ExMLDS4)."""
    negative_weight: float = 1.0
    """Of these negatives together over what they stand beside."""
    scale: float = 10.0
    """gamma: what the cosine is multiplied with (ExMLDS4)."""
    epochs: int = 5
    """0: ExMLDS4 stays where it begins, at the regression."""
    learning_rate: float = 0.01
    optimiser: Optimiser = "adagrad"
    start: Start = "regression"
    """Where ExMLDS4 begins: the regression of ExMLDS1, or random numbers as in the paper."""

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
    """What each kind of common occurrence weighs in the joint matrix of points and labels."""

    labels: float = 1.0
    """mu1: of label with label."""
    points: float = 1.0
    """mu2: of point with point."""
    members: float = 1.0
    """mu3: of point with label."""

    def __post_init__(self) -> None:
        if not all(0.0 < one < INF for one in (self.labels, self.points, self.members)):
            raise ConfigError("the weights of the joint matrix must be above 0")


@dataclass(frozen=True)
class ExmldsConfig:
    """Settings of one fit."""

    variant: Variant = "exmlds1"
    factors: int = 100
    """Dimensions of the embedding."""
    shift: float = 1.0
    """log(shift) is subtracted from the mutual information: above 1 only strong associations remain."""
    reg: float = 1.0
    """Of the regression of places on features, whose rows have length 1."""
    l1: float = 0.0
    """Above 0: regression by ADMM, which leaves zeros in the fitted places."""
    rho: float = 0.1
    sweeps: int = 30
    """Of ADMM."""
    landmarks: int = 0
    """Non-linear features: centres of k-means; 0: none."""
    gamma: float = 1.0
    """Of their kernel exp(-gamma |x - c|^2)."""
    clusters: int = 0
    """Parts of the points, each with places of its own; 0: one for every 12,000 points."""
    learners: int = 1
    """Models whose votes are added; they differ in their random numbers alone."""
    votes: Votes = field(default_factory=Votes)
    descent: Descent = field(default_factory=Descent)
    mix: Mix = field(default_factory=Mix)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.variant not in get_args(Variant):
            raise ConfigError(f"variant must be one of {', '.join(get_args(Variant))}")
        _check("factors", self.factors, 1, 10_000)
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
    """Return where the search of a variant's settings begins."""
    return ExmldsConfig(variant=variant, seed=seed, **_OWN[variant])


GROUPS = {"votes": Votes, "descent": Descent, "mix": Mix}


def names() -> dict[str, type]:
    """Return what may be set, with its type, as one flat list."""
    own = {one.name: one for one in fields(ExmldsConfig) if one.name not in GROUPS}
    for group in GROUPS.values():
        own |= {one.name: one for one in fields(group)}
    kinds: dict[str, type] = {"int": int, "float": float}
    typed = {name: kinds.get(_type_name(one.type), str) for name, one in own.items()}
    return {name: kind for name, kind in typed.items() if name not in ("variant", "seed")}


def set_value(config: ExmldsConfig, name: str, value: Any) -> ExmldsConfig:
    """Return the settings with one changed, whichever group it belongs to."""
    for group, kind in GROUPS.items():
        if name in {one.name for one in fields(kind)}:
            return replace(config, **{group: replace(getattr(config, group), **{name: value})})
    return replace(config, **{name: value})


def _type_name(kind: Any) -> str:
    return kind if isinstance(kind, str) else getattr(kind, "__name__", "")


@dataclass(frozen=True)
class ItemsConfig:
    """Settings of one fit; the defaults are good where users have a few dozen items."""

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
