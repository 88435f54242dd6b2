"""What the online model answers: predictions, and how each of its experts performs."""

from dataclasses import dataclass

from core.online.experts import Expert, Kalman, PassiveAggressive
from core.types import F64


@dataclass(frozen=True)
class Predicted:
    """n predictions on the scale of the ratings.

    >>> from hedgerow.online import RatingPredictor
    >>> model = RatingPredictor()
    >>> model.predict(["ada"], ["film"]).weights.sum().round(6)
    np.float64(1.0)
    """

    rating: F64
    """(n,) served prediction: the median-like output."""
    mean: F64
    """(n,) mean output, which has the smallest squared error."""
    low: F64
    high: F64
    """(n,) each, the central 80 % interval."""
    parts: F64
    """(n, m) prediction of each expert."""
    weights: F64
    """(m,) contribution of each expert to ``rating``; sums to 1, may be negative in the stack."""


@dataclass(frozen=True)
class Learned(Predicted):
    """Predictions made before each rating was learned; ``weights`` are those after the batch.

    >>> from hedgerow.online import RatingPredictor
    >>> model = RatingPredictor()
    >>> model.learn(["ada"], ["film"], [4.0]).parts.shape  # one prediction of each expert
    (1, 6)
    """


@dataclass(frozen=True)
class ExpertReport:
    """Performance of one expert.

    >>> from hedgerow.online import RatingPredictor
    >>> model = RatingPredictor()
    >>> model.experts()[0].family
    'nn-apa-diag'
    """

    name: str
    family: str
    rank: int
    c: float | None
    """Aggressiveness (of the factors, if biases have their own); None for Kalman."""
    weight: float
    """Hedge weight."""
    part: float
    """Contribution to the served output."""
    cumulative_loss: float
    """Sum of |error| / 4 on the internal scale 1..5."""
    recent_loss: float
    """Mean loss of about the last 1 000 ratings."""
    updates: int
    """Number of ratings learned: fewer than seen if updates are sampled or losses were 0."""
    regret_to_best: float
    """Cumulative loss minus that of the best expert in hindsight."""


def family_and_name(expert: Expert, number: int) -> tuple[str, str]:
    """Return the family and a name that is unique within the set."""
    if isinstance(expert, PassiveAggressive):
        family = {"sgd": "sgd", "identity": "nn-pa"}.get(expert.metric, f"nn-apa-{expert.metric}")
    else:
        family = type(expert).__name__.lower()
    return family, f"{number}-{family}-{expert.rank}"


def expert_c(expert: Expert) -> float | None:
    """Return the aggressiveness that reports show."""
    if isinstance(expert, PassiveAggressive):
        return expert.c
    return None if isinstance(expert, Kalman) else expert.c_factor
