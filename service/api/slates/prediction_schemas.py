"""Predictions of ratings, as the api speaks of them."""

from typing import Annotated, Literal

from pydantic import Field

from service.api.schemas import Answer, Id, Request
from service.ranking.families import PredictingStrategy, StarStrategy


class Pair(Request):
    """A user and an item."""

    user: Id
    item: Id


class Pairs(Request):
    """What to predict."""

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
    """What the online model foresees."""

    strategy: Literal["online"]


class OrdinalPrediction(PredictedRating):
    """The prediction of an ordinal model from features; `experts` is always empty."""

    strategy: StarStrategy
    level: int
    """Counted from 1: the level of stars, the lowest first."""
    level_probabilities: list[float]
    """Of each level, in their order."""
    expected: float
    """The mean of the levels' ratings; `rating` is the same."""
    reason: str | None
    """Why it holds for any user or any item; null where it is of these two."""


class Predictions(Answer):
    """In the order of the pairs."""

    predictions: list[Prediction | OrdinalPrediction]
