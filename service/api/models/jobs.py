"""Trainings: order one, watch it, end it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response

from service.api.models.job_schemas import Job, JobPage, Retrain, recipe_of, shown_job
from service.api.models.watched_jobs import WatchedJobs
from service.api.routing import Caller, Route, Runtime
from service.api.schemas import Cursor
from service.http.acts import note_about
from service.http.cursors import make_cursor, read_cursor
from service.http.documentation import problems
from service.http.faults import JOB_ID
from service.ranking.strategies import DEFAULT_RECIPE
from service.store.jobs.job import ORDERED, JobRecord, TrainingOrder
from service.training.orders import check_order

router = APIRouter(route_class=Route, tags=["training"])

LIST = "jobs"

RetrainInput = Annotated[
    Retrain | None,
    Body(
        openapi_examples={
            "whatever is worth it": {"value": {}},
            "one model": {"value": {"model": DEFAULT_RECIPE}},
            "by hand": {
                "value": {"model": DEFAULT_RECIPE, "parameters": {"factors": 128}, "budget_s": 60}
            },
        }
    ),
]
JobId = Annotated[str, Path(pattern=JOB_ID, description="The job's id.")]
Limit = Annotated[int, Query(ge=1, le=500, description="Maximum number of jobs on the page.")]


@router.post(
    "/v1/retrain",
    status_code=202,
    summary="Order a training",
    responses={
        200: {"model": Job, "description": "The same order waits or runs already: its job."},
        **problems("invalid_training", "backlogged"),
    },
)
async def retrain(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    response: Response,
    body: RetrainInput = None,
) -> Job:
    """A trainer takes the job as soon as it is free; watch it by its id.

    202 is a new job. If the same order waits or runs already, the answer is 200 with that job,
    unless so much was learned since it began that another training is worth it.

    Without `model` the trainer tries all recipes that can learn from the data, and trains those
    that add to the others. A new model serves if the newest events of enough users do not show it
    to be worse than the active model.
    """
    asked = body or Retrain()
    recipe = recipe_of(asked)
    check_order(recipe, asked.parameters)
    budget_s = runtime.settings.retrain_budget_s if asked.budget_s is None else asked.budget_s
    order = TrainingOrder(
        model=recipe,
        parameters=asked.parameters,
        budget_s=budget_s,
        who=caller,
        why=ORDERED,
        promote_unjudged=asked.promote_unjudged,
    )
    learned = await asyncio.to_thread(runtime.schedules.learned)
    record, is_new = await asyncio.to_thread(runtime.jobs.submit_once, order, learned)
    note_about(request, job=record.id)
    response.status_code = 202 if is_new else 200
    response.headers["location"] = f"/v1/jobs/{record.id}"
    return shown_job(record)


@router.get("/v1/jobs", summary="List trainings")
async def list_jobs(runtime: Runtime, limit: Limit = 50, cursor: Cursor = None) -> JobPage:
    """The newest first; jobs of the last 30 days, at most 500."""
    after = None if cursor is None else read_cursor(LIST, cursor)
    found = await asyncio.to_thread(runtime.jobs.records.records, limit + 1, after)
    more = len(found) > limit
    shown = [shown_job(record) for record in found[:limit]]
    return JobPage(items=shown, next_cursor=make_cursor(LIST, shown[-1].id) if more else None)


@router.get("/v1/jobs/{job}", summary="Look at a training", responses=problems("not_found"))
async def get_job(runtime: Runtime, job: JobId) -> Job:
    """A job whose trainer is gone is `failed` within seconds; the models that serve stay."""
    return shown_job(await _record(runtime, job))


def _with_room(request: Request) -> WatchedJobs:
    watched: WatchedJobs = request.app.state.watched_jobs
    watched.check_room()
    return watched


Watching = Annotated[WatchedJobs, Depends(_with_room)]


async def _record(runtime: Runtime, job: JobId) -> JobRecord:
    return await asyncio.to_thread(runtime.jobs.records.record, job)


@router.get(
    "/v1/jobs/{job}/events",
    summary="Watch a training",
    response_class=EventSourceResponse,
    response_description="The job, each time that it changes.",
    responses=problems("not_found"),
)
async def watch_job(
    watched: Watching, job: JobId, first: Annotated[JobRecord, Depends(_record)]
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events named `job`: the job as it is now, then each change, until it has ended.

    They end early where the server is stopped: ask again. 503 `overloaded` where too many watch.
    """
    async for now in watched.changes(first):
        yield ServerSentEvent(event="job", data=shown_job(now))


@router.delete(
    "/v1/jobs/{job}", summary="Cancel a training", responses=problems("not_found", "conflict")
)
async def cancel_job(runtime: Runtime, caller: Caller, job: JobId) -> Job:
    """A running job stops within about a second. 409 if it has ended, or is promoting its model."""
    return shown_job(await asyncio.to_thread(runtime.jobs.cancel, job, caller))
