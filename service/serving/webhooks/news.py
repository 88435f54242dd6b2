"""What has happened since it was last looked at: as events for webhooks, and as what is seen then.

Jobs, changes of models and experiments are records that stay; so nothing is missed while no api
process runs. Alarms are what holds at the moment of a look.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from msgspec.structs import asdict

from service.serving.alarms import Alarm
from service.store.clock import now_ms
from service.store.experiments import Experiment, Experiments
from service.store.jobs.job import JobRecord
from service.store.jobs.records import JobRecords
from service.store.models.records import ModelChange
from service.store.models.registry import Registry
from service.store.webhooks.records import OpenAlarm, Seen, Webhook

JOBS_READ = 100
"""The newest jobs; those that have not ended are among them."""
CHANGES_READ = 100
"""Changes of models that are looked at; of more at once, the newest are told."""
SETTLED_S = 15.0
"""Time for which an alarm must hold before it counts as open, and be gone to count as closed."""


@dataclass(frozen=True)
class Event:
    """Something that happened."""

    type: str
    at_ms: int
    data: Mapping[str, Any]
    began_ms: int | None = None
    """When that began which it ends."""

    def concerns(self, webhook: Webhook) -> bool:
        """Return whether a webhook is to be told: it was there when this began, and wants it."""
        began_ms = self.at_ms if self.began_ms is None else self.began_ms
        return self.type in webhook.events and webhook.created_ms <= began_ms


@dataclass(frozen=True)
class News:
    """What is new, and what is seen with it."""

    events: Sequence[Event]
    seen: Seen


@dataclass(frozen=True)
class Records:
    """The records of what happens; read from a thread."""

    jobs: JobRecords
    registry: Registry
    experiments: Experiments

    def since(self, seen: Seen) -> News:
        """Return what has happened since; alarms stay as they were."""
        jobs = [job for job in self.jobs.records(JOBS_READ) if job.has_ended]
        changes = self._changes(seen.change)
        ended = [one for one in self.experiments.read() if _has_ended(one)]
        events = [
            *(_training(job) for job in reversed(jobs) if job.id not in seen.jobs),
            *(_change(one) for one in changes),
            *(_experiment(one) for one in ended if _ending(one) not in seen.experiments),
        ]
        now = Seen(
            jobs=frozenset(job.id for job in jobs),
            change=changes[-1].id if changes else seen.change,
            experiments=frozenset(map(_ending, ended)),
            alarms=seen.alarms,
        )
        return News(sorted(events, key=lambda event: event.at_ms), now)

    def _changes(self, after: str) -> list[ModelChange]:
        found = self.registry.changes(CHANGES_READ)
        return [one for one in reversed(found) if _place(one.id) > _place(after)]


class Settling:
    """Tells which alarms have opened and closed for long enough: one that flickers does neither."""

    def __init__(
        self, settled_s: float = SETTLED_S, clock: Callable[[], float] = monotonic
    ) -> None:
        self._settled_s, self._clock = settled_s, clock
        self._since: dict[tuple[str, str], float] = {}
        """From when on alarms are not as they were told."""

    def look(self, found: Sequence[Alarm], told: Sequence[OpenAlarm]) -> News:
        """Return what opened and closed, with the alarms that are open then."""
        now, at_ms = self._clock(), now_ms()
        here = {(one.code, one.about): one for one in found}
        open_ = {one.key: one for one in told}
        changing = here.keys() ^ open_.keys()
        since = {key: self._since.get(key, now) for key in changing}
        settled = {key for key, at in since.items() if now - at >= self._settled_s}
        self._since = {key: at for key, at in since.items() if key not in settled}
        opened = [_opened(here[key], at_ms) for key in here if key in settled]
        closed = [one for key, one in open_.items() if key in settled]
        left = [one for one in told if one not in closed]
        events = [
            *(Event("alarm.opened", at_ms, _alarm(one)) for one in opened),
            # whoever was not told that it opened is not told that it closed
            *(Event("alarm.closed", at_ms, _alarm(one), one.opened_ms) for one in closed),
        ]
        return News(events, Seen(alarms=(*left, *opened)))


def _training(job: JobRecord) -> Event:
    data = {
        "job": job.id,
        "status": job.status,
        "model": job.model,
        "why": job.why,
        "who": job.who,
        "version": job.version,
        "decision": job.decision or None,
        "recipes": [_recipe(one) for one in job.tried],
        "error": job.error,
    }
    return Event("training.ended", job.ended_ms or job.created_ms, data)


def _recipe(tried: Mapping[str, Any]) -> dict[str, Any]:
    """Return what matters of a recipe that a job without one has considered."""
    outcome = (tried.get("decision") or {}).get("outcome")
    return {"model": tried["model"], "outcome": outcome, "version": tried.get("version")}


def _change(change: ModelChange) -> Event:
    data = {
        "strategy": change.strategy,
        "version": change.version,
        "before": change.before,
        "who": change.who,
        "why": change.why,
    }
    return Event(f"model.{change.action}", change.at_ms, data)


def _has_ended(one: Experiment) -> bool:
    """Return whether its end is news: not if another took the place of the promoted arm."""
    return one.state == "promoted" or (one.state == "stopped" and one.promoted is None)


def _ending(one: Experiment) -> str:
    """Return what stands for the end of an experiment: any arm may be promoted later."""
    return f"{one.id} {one.state} {one.promoted or ''}".rstrip()


def _experiment(one: Experiment) -> Event:
    data = {
        "experiment": one.name,
        "state": one.state,
        "promoted": one.promoted,
        "who": one.ended_by,
        "why": one.why,
    }
    at_ms = one.promoted_ms or one.ended_ms or one.created_ms
    return Event("experiment.ended", at_ms, data)


def _opened(alarm: Alarm, at_ms: int) -> OpenAlarm:
    return OpenAlarm(
        code=alarm.code,
        about=alarm.about,
        severity=alarm.severity,
        title=alarm.title,
        detail=alarm.detail,
        opened_ms=at_ms,
    )


def _alarm(one: OpenAlarm) -> dict[str, Any]:
    return {name: value for name, value in asdict(one).items() if name != "opened_ms"}


def _place(change: str) -> tuple[int, int]:
    """Return the place of an id of a stream."""
    at, _, number = change.partition("-")
    return int(at), int(number or 0)
