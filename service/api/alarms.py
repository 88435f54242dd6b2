"""What is wrong with the service."""

from typing import Literal

from fastapi import APIRouter

from service.api.routing import Route, Runtime
from service.api.schemas import Answer
from service.serving.alarms import Alarm, Severity

router = APIRouter(route_class=Route, tags=["operations"])


class ShownAlarm(Answer):
    """Something that is wrong, and what to do about it."""

    code: str
    """What it is, for programs."""
    severity: Severity
    """`error`: something does not work; `warning`: something will not, or may be lost; `info`:
    something could be better."""
    title: str
    """What it is, for people."""
    detail: str
    """What it means, and what to do."""
    about: str | None
    """The partition or strategy that it is about; null: the whole service."""
    mend: Literal["retrain", "roll_back"] | None
    """The call that mends it, if one does: `POST /v1/retrain`, or `POST /v1/models/rollback` with
    the strategy of `about`."""


class AlarmList(Answer):
    """What is wrong now."""

    items: list[ShownAlarm]
    """The alarms, those that matter most first; empty: nothing is wrong."""


@router.get("/v1/alarms", summary="What is wrong?")
async def list_alarms(runtime: Runtime) -> AlarmList:
    """What the console shows as problems, as this process sees it at this moment."""
    return AlarmList(items=[_shown(alarm) for alarm in await runtime.alarms.now()])


def _shown(alarm: Alarm) -> ShownAlarm:
    return ShownAlarm(**{**vars(alarm), "about": alarm.about or None})
