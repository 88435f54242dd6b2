"""The state of the experts."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from service.api.figures import Figure
from service.api.routing import Route, Runtime
from service.api.schemas import Answer, OfModel
from service.errors import NotFound
from service.http.documentation import problems
from service.ids import sequence_token
from service.runtime.api import ApiRuntime

router = APIRouter(route_class=Route, tags=["experts"])

Partition = Annotated[
    int, Query(ge=0, le=255, description="Each partition has a learner of its own.")
]
Points = Annotated[
    int, Query(ge=1, le=10_000, description="Maximum number of points; the newest are kept.")
]


class Expert(Answer):
    """The state of one expert."""

    name: str
    """Its number in the settings, its kind and its rank, as one word."""
    family: str
    """The kind of online model."""
    rank: int
    """How many numbers it keeps for each user and item."""
    c: float | None
    """Its aggressiveness: how far one rating may move it; null where the family has none."""
    weight: Figure
    """How good it is alone; the weights of all experts sum to 1."""
    part: Figure
    """The factor with which its prediction enters the combined prediction; all parts sum to 1, and
    a part may be negative."""
    cumulative_loss: Figure
    """The sum of its losses; a loss is the absolute error divided by the width of the scale."""
    recent_loss: Figure
    """Its mean loss over about the last 1 000 ratings."""
    updates: int
    """Ratings that it learned from."""
    regret_to_best: Figure
    """Its cumulative loss minus that of the best expert in hindsight."""


class Experts(OfModel):
    """The experts of a partition."""

    partition: int
    """The partition whose learner this is."""
    model_version: str
    """The version of the online model."""
    aggregator: str
    """The method that combines the predictions of the experts."""
    experts: list[Expert]
    """In the order of the settings."""
    seen_through: str
    """The last event that is learned."""


class HistoryExpert(Answer):
    """One expert at one point."""

    name: str
    """As in `GET /v1/experts`."""
    weight: Figure
    """How good it was alone; the weights of all experts sum to 1."""
    part: Figure
    """The factor with which its prediction entered the combined prediction."""
    recent_loss: Figure
    """Its mean loss over about the last 1 000 ratings."""


class HistoryPoint(Answer):
    """The experts after so many ratings."""

    sequence: str
    """The last event that was learned."""
    learned: int
    """How many ratings were learned."""
    experts: list[HistoryExpert]
    """In the order of the settings."""


class ExpertHistory(Answer):
    """Points in time, oldest first."""

    partition: int
    """The partition whose learner this is."""
    points: list[HistoryPoint]
    """The oldest first."""


@router.get(
    "/v1/experts", summary="Compare the experts", responses=problems("not_found", "not_ready")
)
async def get_experts(runtime: Runtime, partition: Partition = 0) -> Experts:
    """Weights, losses, and each expert's regret to the best one in hindsight."""
    _check(runtime, partition)
    report = await runtime.online_predictions.experts(partition)
    return Experts(
        partition=partition,
        model_version=runtime.online_predictions.version,
        aggregator=runtime.online_predictions.aggregator,
        experts=[Expert(**asdict(expert)) for expert in report.experts],
        seen_through=sequence_token({partition: report.watermark}),
    )


@router.get("/v1/experts/history", summary="Plot the experts", responses=problems("not_found"))
async def get_expert_history(
    runtime: Runtime, partition: Partition = 0, limit: Points = 1_000
) -> ExpertHistory:
    """Weights and recent losses every so many events, oldest first."""
    _check(runtime, partition)
    points = await runtime.profiles.expert_history(partition, limit)
    for point in points:
        point["sequence"] = sequence_token({partition: point["sequence"]})
    return ExpertHistory(partition=partition, points=points)


def _check(runtime: ApiRuntime, partition: int) -> None:
    if partition >= runtime.namespace.partitions:
        last = runtime.namespace.partitions - 1
        raise NotFound(f"there is no partition {partition}: they go from 0 to {last}")
