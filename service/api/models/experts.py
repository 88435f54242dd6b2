"""The state of the experts, and the topics that the non-negative expert has found."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from service.api.routing import Route, Runtime
from service.api.schemas import Answer
from service.errors import NotFound
from service.http.documentation import problems
from service.ids import sequence_token
from service.runtime import ApiRuntime

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
    family: str
    rank: int
    c: float | None
    """Aggressiveness."""
    weight: float
    """Its Hedge weight."""
    part: float
    """Its share in the predictions."""
    cumulative_loss: float
    recent_loss: float
    updates: int
    regret_to_best: float


class Experts(Answer):
    """The experts of a partition."""

    partition: int
    model_version: str
    aggregator: str
    experts: list[Expert]
    seen_through: str


class HistoryExpert(Answer):
    """One expert at one point."""

    name: str
    weight: float
    part: float
    recent_loss: float


class HistoryPoint(Answer):
    """The experts after so many ratings."""

    sequence: str
    learned: int
    experts: list[HistoryExpert]


class ExpertHistory(Answer):
    """Points in time, oldest first."""

    partition: int
    points: list[HistoryPoint]


class TopicItem(Answer):
    """An item and how much it belongs to a topic."""

    item: str
    strength: float


class Topics(Answer):
    """The heaviest items of each component."""

    partition: int
    topics: list[list[TopicItem]]
    seen_through: str


@router.get("/v1/experts", summary="Compare the experts", responses=problems(404))
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


@router.get("/v1/experts/history", summary="Plot the experts", responses=problems(404))
async def get_expert_history(
    runtime: Runtime, partition: Partition = 0, limit: Points = 1_000
) -> ExpertHistory:
    """Weights and recent losses every so many events, oldest first."""
    _check(runtime, partition)
    points = await runtime.profiles.expert_history(partition, limit)
    for point in points:
        point["sequence"] = sequence_token({partition: point["sequence"]})
    return ExpertHistory(partition=partition, points=points)


@router.get("/v1/topics", summary="Show the topics", responses=problems(404))
async def get_topics(runtime: Runtime, partition: Partition = 0) -> Topics:
    """The items with the largest factors in each component of the non-negative expert.

    They are updated every few seconds, and empty until enough was learned.
    """
    _check(runtime, partition)
    found = await runtime.profiles.topics(partition) or {"topics": [], "sequence": 0}
    seen = sequence_token({partition: found["sequence"]})
    return Topics(partition=partition, topics=found["topics"], seen_through=seen)


def _check(runtime: ApiRuntime, partition: int) -> None:
    if partition >= runtime.namespace.partitions:
        last = runtime.namespace.partitions - 1
        raise NotFound(f"there is no partition {partition}: they go from 0 to {last}")
