"""The schedule of automatic trainings."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Body, Query

from service.api.models.job_schemas import CurrentSchedule, ScheduleBody, recipe_of, shown_schedule
from service.api.routing import Caller, Route, Runtime
from service.http.documentation import problems
from service.store.jobs.schedule import Schedule
from service.training.orders import check_order

router = APIRouter(route_class=Route, tags=["training"])

ScheduleInput = Annotated[
    ScheduleBody,
    Body(openapi_examples={"nightly": {"value": {"cron": "0 4 * * *", "after_events": 100_000}}}),
]
IfVersion = Annotated[
    int | None, Query(ge=0, description="Change nothing unless the schedule has this version.")
]


@router.get("/v1/retrain/schedule", summary="Read the schedule")
async def get_schedule(runtime: Runtime) -> CurrentSchedule:
    """The conditions that start a training, and how near they are."""
    return await asyncio.to_thread(shown_schedule, runtime.schedules)


@router.put(
    "/v1/retrain/schedule",
    summary="Set the schedule",
    responses=problems("version_conflict", "invalid_schedule", "invalid_training"),
)
async def set_schedule(
    runtime: Runtime, caller: Caller, body: ScheduleInput, if_version: IfVersion = None
) -> CurrentSchedule:
    """Replace the whole schedule: a condition that is left out is off.

    An empty object ends automatic retraining; DELETE lets the settings decide again. The answer is
    the schedule as it is now. The pause after a training (HEDGEROW_RETRAIN_PAUSE_S) always holds.
    """
    check_order(recipe_of(body), body.parameters)
    new = Schedule(**body.model_dump())
    await asyncio.to_thread(runtime.schedules.replace, new, caller, if_version)
    return await get_schedule(runtime)


@router.delete("/v1/retrain/schedule", summary="Let the settings decide when to train")
async def reset_schedule(runtime: Runtime, caller: Caller) -> CurrentSchedule:
    """Forget the schedule that was set. The answer is that of the settings, with a new version."""
    await asyncio.to_thread(runtime.schedules.reset, caller)
    return await get_schedule(runtime)
