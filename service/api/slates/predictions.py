"""Predict ratings."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Body, Query
from fastapi.exceptions import RequestValidationError

from service.api.routing import ItemId, Route, Runtime, UserId
from service.api.slates.prediction_schemas import (
    AnyPrediction,
    ExpertPart,
    OrdinalPrediction,
    Pair,
    Pairs,
    Prediction,
    Predictions,
)
from service.api.waiting import reached
from service.http.documentation import problems
from service.ids import SEQUENCE, sequence_token
from service.ranking.families import PredictingStrategy
from service.ranking.strategies import ONLINE
from service.runtime.api import ApiRuntime

router = APIRouter(route_class=Route, tags=["predictions"])

MAX_READS = 16
"""Largest number of users of a batch that are read at the same time."""

_PAIR = {"user": "ada", "item": "tt0111161"}

PairsInput = Annotated[
    Pairs, Body(openapi_examples={"two": {"value": {"pairs": [_PAIR, {**_PAIR, "item": "new"}]}}})
]
MinSequence = Annotated[
    str | None,
    Query(
        max_length=4_096,
        json_schema_extra={"pattern": SEQUENCE},
        description="Answer only once this `sequence` is learned: so you read your own writes.",
    ),
]


Model = Annotated[
    PredictingStrategy | None,
    Query(
        description="The strategy that predicts: `ordinal` reads only documents of user and item."
    ),
]
Strategy = Annotated[PredictingStrategy | None, Query(description="The same as `model`.")]


@router.get(
    "/v1/users/{user:id}/predictions/{item:id}",
    summary="Predict a rating",
    response_description="The predicted rating, with its interval.",
    responses=problems("conflict", "not_ready"),
)
async def predict_rating(
    runtime: Runtime,
    user: UserId,
    item: ItemId,
    model: Model = None,
    strategy: Strategy = None,
    min_sequence: MinSequence = None,
) -> AnyPrediction:
    """The rating that this user would give this item, with the part of each expert.

    An unknown user or item is not an error: the interval is then wide. Asking stores nothing.
    """
    await reached(runtime, min_sequence, [user])
    if (chosen := _chosen("query", model, strategy)) != ONLINE:
        [ordinal] = await _stars(runtime, chosen, [Pair(user=user, item=item)])
        return ordinal
    [prediction] = await _predictions(runtime, user, [item])
    return prediction


@router.post(
    "/v1/predictions",
    summary="Predict many ratings",
    responses=problems("conflict", "not_ready"),
)
async def predict_ratings(
    runtime: Runtime, body: PairsInput, min_sequence: MinSequence = None
) -> Predictions:
    """Up to 1 000 pairs at once, answered in their order."""
    items: dict[str, dict[str, None]] = {}
    for pair in body.pairs:
        items.setdefault(pair.user, {})[pair.item] = None
    await reached(runtime, min_sequence, items)
    if (chosen := _chosen("body", body.model, body.strategy)) != ONLINE:
        return Predictions(predictions=[*await _stars(runtime, chosen, body.pairs)])
    turn = asyncio.Semaphore(MAX_READS)

    async def of_user(user: str) -> list[Prediction]:
        async with turn:
            return await _predictions(runtime, user, list(items[user]))

    answers = await asyncio.gather(*map(of_user, items))
    found = {(one.user, one.item): one for several in answers for one in several}
    return Predictions(predictions=[found[pair.user, pair.item] for pair in body.pairs])


def _chosen(
    where: str, model: PredictingStrategy | None, strategy: PredictingStrategy | None
) -> PredictingStrategy:
    if model and strategy and model != strategy:
        message = "says something else than `strategy`: give one of them"
        fault = {"type": "value_error", "loc": (where, "model"), "msg": message}
        raise RequestValidationError([fault])
    return model or strategy or ONLINE


async def _stars(
    runtime: ApiRuntime, strategy: PredictingStrategy, pairs: Sequence[Pair]
) -> list[OrdinalPrediction]:
    users, items = [pair.user for pair in pairs], [pair.item for pair in pairs]
    found = await runtime.stars.predict(strategy, users, items)
    through = sequence_token(found.model.trained_through)
    known = zip(found.user_known.tolist(), found.item_known.tolist(), strict=True)
    reasons = [_unknown(*pair) for pair in known]
    columns = (found.level, found.probabilities, found.expected, found.low, found.high)
    rows = zip(users, items, reasons, *(column.tolist() for column in columns), strict=True)
    return [
        OrdinalPrediction(
            user=user,
            item=item,
            rating=expected,
            low=low,
            high=high,
            experts=[],
            model_version=found.model.version,
            strategy=found.model.strategy,
            trained_through=through,
            seen_through=through,
            level=level,
            level_probabilities=probabilities,
            expected=expected,
            reason=reason,
        )
        for user, item, reason, level, probabilities, expected, low, high in rows
    ]


def _unknown(user_known: bool, item_known: bool) -> str | None:
    """Return why a prediction is not of this pair alone."""
    unknown = [name for name, known in (("user", user_known), ("item", item_known)) if not known]
    if not unknown:
        return None
    of = " and ".join(f"this {name}" for name in unknown)
    return f"the model knows no feature of {of}, so it says what holds for any: write a document"


async def _predictions(runtime: ApiRuntime, user: str, items: Sequence[str]) -> list[Prediction]:
    serving = runtime.online_predictions
    made = await serving.predict(user, items)
    predicted, seen = made.predicted, sequence_token({made.partition: made.watermark})
    weights = predicted.weights.tolist()
    columns = (predicted.rating, predicted.low, predicted.high, predicted.parts)
    rows = zip(items, *(column.tolist() for column in columns), strict=True)
    return [
        Prediction(
            user=user,
            item=item,
            rating=rating,
            low=low,
            high=high,
            experts=[
                ExpertPart(name=name, rating=part, weight=weight)
                for name, part, weight in zip(serving.names, parts, weights, strict=True)
            ],
            model_version=serving.version,
            strategy="online",
            trained_through=seen,
            seen_through=seen,
        )
        for item, rating, low, high, parts in rows
    ]
