"""When the service retrains by itself."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Body, Query

from service.api.models.job_schemas import CurrentSchedule, ScheduleBody, shown_schedule
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
    """What starts a training by itself, and how near that is."""
    return await asyncio.to_thread(shown_schedule, runtime.schedules)


@router.put(
    "/v1/retrain/schedule", summary="Set the schedule", responses=problems(400, 409, 413, 422)
)
async def put_schedule(
    runtime: Runtime, caller: Caller, body: ScheduleInput, if_version: IfVersion = None
) -> CurrentSchedule:
    """Replaces all of it, what is left out is off: an empty object ends all retraining by itself.

    The answer is what holds now. DELETE lets the settings decide again.
    A pause after the last training is kept in any case (HEDGEROW_RETRAIN_PAUSE_S).
    """
    check_order(body.model, body.parameters)
    new = Schedule(**body.model_dump())
    await asyncio.to_thread(runtime.schedules.replace, new, caller, if_version)
    return await get_schedule(runtime)


@router.delete("/v1/retrain/schedule", summary="Let the settings decide when to train")
async def delete_schedule(runtime: Runtime, caller: Caller) -> CurrentSchedule:
    """What somebody has set is forgotten; the answer is what holds now, that of the settings. The version goes on."""
    await asyncio.to_thread(runtime.schedules.reset, caller)
    return await get_schedule(runtime)
