"""What becomes of events that were sent: the next training, and the first lists by it."""

import threading
from collections.abc import Mapping
from time import monotonic
from typing import Any

from service.cli.clients.watching import LOOK_S, watch
from service.cli.options import say
from service.client import UNFINISHED, ServiceClient

PATIENCE_S = 120.0
"""Longest wait for the trainer to begin; it lets a rush of events end first, for a minute."""
NO_TRAINER = (
    "no trainer seems to be running (`hedgerow serve` starts one unless HEDGEROW_TRAINER=false, or "
    "run `hedgerow trainer`): nothing was trained"
)


def next_training(client: ServiceClient) -> str:
    """Say in a sentence what is trained next, and when."""
    job = _under_way(client)
    if job is not None:
        return f"a training is under way (job {job['id']}): lists know what it learned at its end"
    schedule, serves = client.get("/v1/retrain/schedule"), _serves(client)
    if schedule["at_once"]:
        first = "personal lists come with it" if not serves else "until then the old models serve"
        return f"a training begins by itself within seconds: {first}"
    return _says_later(schedule, serves=serves)


def wait_for_lists(client: ServiceClient) -> dict[str, Any] | None:
    """Return the last training when none is under way or about to begin; None if there was none."""
    ended, pause, since = None, threading.Event(), monotonic()
    while True:
        job = _under_way(client)
        if job is not None:
            ended, since = watch(client, job), monotonic()
        elif not client.get("/v1/retrain/schedule")["at_once"]:
            break
        elif monotonic() - since > PATIENCE_S:
            say(NO_TRAINER)
            break
        else:
            pause.wait(LOOK_S)
    _wait_until_served(client)
    return ended


def _says_later(schedule: Mapping[str, Any], *, serves: bool) -> str:
    known = "lists know these events already" if serves else "nothing is trained yet"
    if schedule["after_events"] is None:
        return f"{known}; no number of events starts a training: order one with `hedgerow retrain`"
    left = schedule["after_events"] - schedule["new_events"]
    if left > 0:
        return f"{known}; a training begins by itself after {left:,} more events"
    if schedule["not_before"] is not None:
        return f"{known}; a training begins by itself, not before {schedule['not_before']}"
    return f"{known}; a training begins by itself once two users have a history"


def _under_way(client: ServiceClient) -> dict[str, Any] | None:
    """Return the oldest training that has not ended."""
    jobs: list[dict[str, Any]] = client.get("/v1/jobs")["items"]
    return next((job for job in reversed(jobs) if job["status"] in UNFINISHED), None)


def _serves(client: ServiceClient) -> bool:
    return bool(client.get("/v1/models", limit=1)["active"])


def _wait_until_served(client: ServiceClient) -> None:
    """Return when the service has loaded the models that are to serve, within some seconds."""
    pause, since = threading.Event(), monotonic()
    while monotonic() - since < PATIENCE_S / 4:
        models = client.get("/v1/models", limit=1)
        loaded = {one["strategy"]: one["version"] for one in models["served"]}
        faults = any(one["fault"] for one in models["served"])
        if faults or loaded == models["active"]:
            return
        pause.wait(LOOK_S)
