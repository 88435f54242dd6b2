"""The schemas of predicted ratings."""

from typing import Annotated, Literal

from pydantic import Field

from service.api.figures import Figure
from service.api.schemas import Answer, Id, OfModel, Request
from service.ranking.families import PredictingStrategy, StarStrategy


class Pair(Request):
    """A user and an item."""

    user: Id
    """Your own id of the user, known or not."""
    item: Id
    """Your own id of the item, known or not."""


class Pairs(Request):
    """The pairs to predict."""

    pairs: Annotated[list[Pair], Field(min_length=1, max_length=1_000)]
    """The answer keeps their order."""
    model: PredictingStrategy | None = None
    """The model that predicts: `online`, or `ordinal`, which reads only documents."""
    strategy: PredictingStrategy | None = None
    """The same as `model`."""


class ExpertPart(Answer):
    """One expert's own prediction and its part in the answer."""

    name: str
    """As in `GET /v1/experts`."""
    rating: Figure
    """Its own prediction."""
    weight: Figure
    """The factor with which its prediction enters the answer; all weights sum to 1, and a weight
    may be negative."""


class PredictedRating(OfModel):
    """A predicted rating; `low` to `high` is the central 80 % interval."""

    user: str
    """The user."""
    item: str
    """The item."""
    rating: Figure
    """The predicted rating, on the scale of the namespace."""
    low: Figure
    """Where the central 80 % interval begins: one of ten ratings is lower."""
    high: Figure
    """Where the central 80 % interval ends: one of ten ratings is higher."""
    experts: list[ExpertPart]
    """The predictions of the single experts."""
    model_version: str
    """The version of the model that predicts."""
    trained_through: str
    """The last event that the model has learned."""
    seen_through: str
    """The last event that the answer reflects."""


class Prediction(PredictedRating):
    """The prediction of the online model."""

    strategy: Literal["online"]
    """The strategy that predicts."""


class OrdinalPrediction(PredictedRating):
    """The prediction of an ordinal model from features; `experts` is always empty."""

    strategy: StarStrategy
    """The strategy that predicts."""
    level: int
    """The level of stars, counted from 1 for the lowest."""
    level_probabilities: list[Figure]
    """The probability of each level, the lowest level first."""
    expected: Figure
    """The mean of the levels' ratings; `rating` is the same."""
    reason: str | None
    """Why the prediction is the same for all users or all items; null if it is for this pair."""


AnyPrediction = Annotated[Prediction | OrdinalPrediction, Field(discriminator="strategy")]
"""A prediction; `strategy` says which of the two."""


class Predictions(Answer):
    """In the order of the pairs."""

    predictions: list[AnyPrediction]
    """One for each pair."""
