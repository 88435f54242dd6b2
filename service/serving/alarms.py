"""What is wrong with the service, in the order of how much it matters, and what to do about it.

The console and `GET /v1/alarms` show it; webhooks are told when an alarm opens and closes.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from service.served_models import ActiveModels, Fault
from service.store.clock import now_ms
from service.store.connection import AsyncClient
from service.store.jobs.job import UNFINISHED
from service.store.jobs.records import JobRecords
from service.store.jobs.schedule import Schedules
from service.store.namespace import Namespace
from service.store.profiles.reader import ProfileReader
from service.store.progress import partition_progress, workers
from service.store.pulse import Pulse
from service.store.recovery.healing import Rollback
from service.store.recovery.watch import StoreWatch
from service.store.server.inspection import PartitionReport, ServerReport
from service.store.server.probe import WriteProbe

LAG_MS = 5_000
"""How far behind learning may be."""
DRIFT = 1.15
"""Ratio of the recent online error to the usual one at which a training may help."""
ENOUGH_EVENTS = 100
"""Events from which on a first training is worth it."""
RECENT_MS = 7 * 86_400_000
"""What was lost longer ago can no longer be mended."""
JOBS_READ = 20

Severity = Literal["error", "warning", "info"]
Mend = Literal["retrain", "roll_back"]


@dataclass(frozen=True)
class Alarm:
    """Something that is wrong."""

    code: str
    severity: Severity
    title: str
    detail: str
    """What it means, and what to do."""
    about: str = ""
    """The partition or the strategy that it is about; "": the whole service."""
    mend: Mend | None = None
    """The call that mends it, if one does."""


@dataclass(frozen=True)
class Alarms:
    """Finds what is wrong now, as this process sees it."""

    client: AsyncClient
    namespace: Namespace
    server: ServerReport
    pulse: Pulse
    probe: WriteProbe
    profiles: ProfileReader
    jobs: JobRecords
    schedules: Schedules
    active: ActiveModels
    watch: StoreWatch

    async def now(self) -> list[Alarm]:
        """Return what is wrong; StoreUnavailable if the store went away meanwhile."""
        if self.pulse.away_s is not None:
            return [_away(self.pulse.away_s), *self._faults()]
        found = await self._store()
        for partition in range(self.namespace.partitions):
            found += await self._partition(partition)
        found += self._faults()
        found += of_losses(await asyncio.to_thread(self.watch.rollbacks))
        if NO_TRAINER not in found:
            found += await asyncio.to_thread(self._trainings)
        return found

    async def _store(self) -> list[Alarm]:
        found: list[Alarm] = []
        if self.watch.lost is not None:
            detail = self.watch.lost.detail
            found.append(Alarm("store_lost", "error", "The store is not the known one", detail))
        refusal = await self.probe.refusal()
        if refusal is not None:
            return [*found, Alarm("events_refused", "error", "Events are refused", refusal)]
        idle, trains = await workers(self.client, self.namespace.name, self.namespace.partitions)
        if not await self.profiles.fits():
            found.append(OTHER_EXPERTS)
        found += [_idle(partition) for partition in idle]
        if not trains:
            found.append(NO_TRAINER)
        if not self.server.durable:
            found.append(_not_durable(self.server.warning))
        return found

    async def _partition(self, partition: int) -> list[Alarm]:
        name = self.namespace.name
        progress = await partition_progress(self.client, name, partition)
        state = await self.profiles.state(partition)
        return of_partition(progress, state.lag_ms(progress.appended))

    def _faults(self) -> list[Alarm]:
        return of_faults(self.active.current.faults)

    def _trainings(self) -> list[Alarm]:
        """Return what is wrong with the trainings, unless one is under way."""
        jobs = self.jobs.records(JOBS_READ)
        if any(job.status in UNFINISHED for job in jobs):
            return []
        last = next((job for job in jobs if job.status in {"failed", "succeeded"}), None)
        if last is not None and last.status == "failed":
            title = "The last training failed"
            return [Alarm("training_failed", "warning", title, last.error or "", mend="retrain")]
        if not self.schedules.anything_serves():
            new = self.schedules.new_events(self.schedules.last())
            return [] if new < ENOUGH_EVENTS else [_untrained(new)]
        drift = self.schedules.drift()
        return [_drifted(drift)] if drift > DRIFT else []


OTHER_EXPERTS = Alarm(
    "other_experts",
    "error",
    "Predictions cannot be read",
    "The rows are those of other experts: start with the learner's settings, or run `hedgerow "
    "rebuild`.",
)
NO_TRAINER = Alarm(
    "no_trainer",
    "warning",
    "No trainer runs",
    "Ordered trainings wait. Start `hedgerow trainer`, or `hedgerow serve` with the setting "
    "`trainer` on.",
)


def of_partition(progress: PartitionReport, lag_ms: int) -> list[Alarm]:
    """Return what is wrong with a partition that has a learner or not."""
    found: list[Alarm] = []
    about = f"partition {progress.partition}"
    if lag_ms > LAG_MS:
        says = (
            f"{progress.behind} events wait in {about}; the newest learned one came "
            f"{lag_ms / 1_000:.0f} seconds ago. If this grows, run more partitions or a faster "
            "machine."
        )
        found.append(Alarm("learning_behind", "warning", "Learning is behind", says, about))
    if progress.dead_letters:
        says = (
            f"{progress.dead_letters} entries of {about} could not be learned: `hedgerow "
            "dead-letters` shows why, and learns them again or discards them."
        )
        title = "Events could not be learned"
        found.append(Alarm("dead_letters", "warning", title, says, about))
    return found


def of_faults(faults: Mapping[str, Fault]) -> list[Alarm]:
    """Return an alarm for each model that cannot be loaded."""
    return [
        Alarm(
            "model_not_loaded",
            "error",
            f"A model of {strategy} could not be loaded",
            f"{fault.detail} The previous model goes on serving.",
            strategy,
            mend="roll_back",
        )
        for strategy, fault in faults.items()
    ]


def of_losses(rollbacks: Sequence[Rollback]) -> list[Alarm]:
    """Return an alarm for the newest loss, while it can be mended."""
    if not rollbacks or now_ms() - rollbacks[0].at_ms > RECENT_MS:
        return []
    found = datetime.fromtimestamp(rollbacks[0].at_ms / 1_000, UTC)
    says = (
        f"Found on {found:%d/%m/%Y} at {found:%H:%M} UTC. Clients should send again what came "
        "after the last event that was kept (/v1/stats, `rollbacks`)."
    )
    title, about = "The store has lost events", f"era {rollbacks[0].era}"
    return [Alarm("events_lost", "warning", title, says, about)]


def _away(seconds: float) -> Alarm:
    says = f"The store last answered {seconds:.0f} seconds ago: start it again. Writes get 503."
    return Alarm("store_away", "error", "Answers come from memory", says)


def _idle(partition: int) -> Alarm:
    says = (
        f"No learner runs for partition {partition}: new feedback waits. Start `hedgerow learner`, "
        "or `hedgerow serve`, which runs all roles."
    )
    return Alarm("no_learner", "error", "Nothing is learned", says, f"partition {partition}")


def _not_durable(warning: str | None) -> Alarm:
    says = warning or "The store does not sync its writes: see `durability` in the settings."
    return Alarm("not_durable", "warning", "A crash may lose events", says)


def _untrained(new_events: int) -> Alarm:
    says = f"There are {new_events} events to learn from: a training would make the lists better."
    return Alarm("untrained", "info", "No trained model serves yet", says, mend="retrain")


def _drifted(drift: float) -> Alarm:
    says = f"The recent error is {drift:.2f} times the usual one. A training may help."
    return Alarm("drift", "info", "Tastes have moved", says, mend="retrain")
