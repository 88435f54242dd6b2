"""The schemas of predicted ratings."""

from typing import Annotated, Literal

from pydantic import Field

from service.api.schemas import Answer, Id, Request
from service.ranking.families import PredictingStrategy, StarStrategy


class Pair(Request):
    """A user and an item."""

    user: Id
    item: Id


class Pairs(Request):
    """The pairs to predict."""

    pairs: Annotated[list[Pair], Field(min_length=1, max_length=1_000)]
    model: PredictingStrategy | None = None
    """The model that predicts: `online`, or `ordinal`, which reads only documents."""
    strategy: PredictingStrategy | None = None
    """The same as `model`."""


class ExpertPart(Answer):
    """One expert's own prediction and its part in the answer."""

    name: str
    rating: float
    weight: float


class PredictedRating(Answer):
    """A predicted rating; `low` to `high` is the central 80 % interval."""

    user: str
    item: str
    rating: float
    low: float
    high: float
    experts: list[ExpertPart]
    model_version: str
    trained_through: str
    seen_through: str


class Prediction(PredictedRating):
    """The prediction of the online model."""

    strategy: Literal["online"]


class OrdinalPrediction(PredictedRating):
    """The prediction of an ordinal model from features; `experts` is always empty."""

    strategy: StarStrategy
    level: int
    """The level of stars, counted from 1 for the lowest."""
    level_probabilities: list[float]
    """The probability of each level, the lowest level first."""
    expected: float
    """The mean of the levels' ratings; `rating` is the same."""
    reason: str | None
    """Why it is the same for any user or any item; null if it is for this pair."""


class Predictions(Answer):
    """In the order of the pairs."""

    predictions: list[Prediction | OrdinalPrediction]
