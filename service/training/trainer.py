"""The trainer's process: waits for jobs, forks a process for each, and orders some on schedule.

It stays small: neither numba nor a BLAS is imported here, so that a fork is cheap and safe.
The work is in ``work.py``.
"""

import threading
from contextlib import suppress

from service.errors import NotFound, StoreUnavailable, Superseded
from service.metrics.catalogue import TRAINING_SECONDS, TRAININGS
from service.metrics.meters import Meters
from service.settings import Settings
from service.store.clock import now_ms
from service.store.connection import connect
from service.store.jobs.job import TrainingOrder
from service.store.jobs.queue import Jobs, Work, take_jobs
from service.store.jobs.records import JobGone
from service.store.jobs.schedule import Schedules
from service.store.keys import NamespaceKeys
from service.store.log.lease import Lease
from service.telemetry import Outage, logger
from service.tracing import spans

LEASE_MS = 8_000
"""Milliseconds for which a silent trainer counts as alive.

Long enough for several calls of ``look``, short enough that jobs fail soon after its death.
"""
STANDBY_S = 0.5
"""Seconds between two attempts to become the trainer."""
SCHEDULE_MS = 2_000
"""Milliseconds between two checks of the schedule and of the waiting jobs."""


def run(
    settings: Settings,
    redis_url: str,
    stop: threading.Event,
    work: Work,
    meters: Meters | None = None,
) -> None:
    """Take jobs until SIGTERM or SIGINT; a second trainer of the namespace waits as a standby.

    ``work`` does one job, in a process that was forked for it. Waits while the store does not
    answer. Raises Superseded if another trainer took over.
    """
    jobs_url = settings.jobs_redis_url or redis_url
    with (
        connect(redis_url, role="trainer") as client,
        connect(jobs_url, role="trainer-jobs") as queue,
    ):
        lease = Lease(client, NamespaceKeys(settings.namespace).trainer, LEASE_MS)
        jobs, schedules = Jobs(client, queue, settings.namespace), Schedules(client, settings)
        trainer = Trainer(settings, lease, jobs, schedules, meters)
        while not stop.is_set():
            try:
                if _acquired(lease, stop):
                    trainer.begin_service()
                    take_jobs(queue, settings.namespace, stop, trainer, work)
                break
            except StoreUnavailable as error:
                trainer.away(error.detail)
                stop.wait(STANDBY_S)
        with suppress(StoreUnavailable):
            lease.release()
        if trainer.superseded:
            raise Superseded("another trainer has taken over")


def _acquired(lease: Lease, stop: threading.Event) -> bool:
    """Wait for the lease; return False if told to stop before."""
    waiting = False
    while not lease.acquire():
        if not waiting:
            logger().info("trainer_stands_by")
        waiting = True
        if stop.wait(STANDBY_S):
            return False
    return True


STOPPED = "the trainer was stopped"
"""Why a job ends with its trainer."""


class Trainer:
    """Decides about jobs; ``store.jobs`` forks and watches their processes."""

    def __init__(
        self,
        settings: Settings,
        lease: Lease,
        jobs: Jobs,
        schedules: Schedules,
        meters: Meters | None = None,
    ) -> None:
        self._settings, self._lease = settings, lease
        self._meters = meters or Meters()
        self._jobs, self._schedules = jobs, schedules
        jobs.records.on_buried = self._meters.count(TRAININGS, "failed").add
        self._next_look_ms = 0
        self._outage = Outage()
        self.superseded = False

    def begin_service(self) -> None:
        """Bring the records up to date: fail jobs that nobody does, send the waiting ones.

        Nobody does those of an earlier trainer, and those of ours that began as the store went.
        """
        for record in self._jobs.records.records():
            if record.worker == self._lease.token and not record.has_ended:
                self._fail(record.id, "the store went away while it began or ended")
        self._jobs.send_lost()
        self._schedules.trainer_came()
        logger().info("trainer_started", namespace=self._settings.namespace)

    def begin(self, job: str) -> bool:
        """Claim a job; return False if it no longer waits."""
        learned = self._schedules.learned()
        if not self._jobs.records.claim(job, self._lease.token, learned):
            return False
        logger().info("training_started", job=job)
        return True

    def look(self, job: str | None) -> bool:
        """Keep the lease and follow the schedule; return whether the job, or the work, goes on."""
        try:
            if not self._lease.keep():
                self.superseded = True
                return False
            if job is not None:
                # one that has ended may still have something to log, and others to order
                return not self._jobs.records.is_cancelled(job)
            self._follow_schedule()
            self._outage.over()
        except StoreUnavailable as error:
            self._outage.lasts(error.detail)
        return True

    def failed(self, job: str, error: BaseException) -> None:
        """Fail a job whose work met a bug."""
        if not isinstance(error, JobGone):
            says = f"{type(error).__name__}: {error}; this is a bug: see the trainer's log"
            self._jobs.records.fail(job, says)

    def died(self, job: str, how: str) -> None:
        """Fail a job whose process ended without a report."""
        if self._fail(job, how):
            logger().warning("training_died", job=job, reason=how)
        elif self._jobs.records.is_cancelled(job):
            logger().info("training_given_up", job=job, reason="the job was cancelled")

    def stopped(self, job: str) -> None:
        """Fail a job whose process ended because the trainer was told to."""
        if self._fail(job, STOPPED):
            logger().info("training_given_up", job=job, reason=STOPPED)

    def _fail(self, job: str, why: str) -> bool:
        return self._jobs.records.fail(job, f"{why}; the serving model is unchanged: retrain again")

    def ended(self, job: str) -> None:
        """Count a job that has ended, by what became of it."""
        try:
            record = self._jobs.records.record(job)
        except (NotFound, StoreUnavailable):
            return
        if not record.has_ended:
            # another trainer works on it
            return
        if record.status == "succeeded":
            outcome = str(record.decision.get("outcome", record.status))
        else:
            outcome = record.status
        self._meters.count(TRAININGS, outcome).add()
        if record.started_ms is not None and record.ended_ms is not None:
            seconds = (record.ended_ms - record.started_ms) / 1_000
            self._meters.spread(TRAINING_SECONDS, outcome).note(seconds)
            if (traced := spans()) is not None:
                about = {"job": job, "model": record.model or "all", "outcome": outcome}
                traced.add("training", seconds, about, failed=outcome == "failed")

    def away(self, detail: str) -> None:
        """Note that the server does not answer; ``look`` notices when it does again."""
        self._outage.lasts(detail)

    def _follow_schedule(self) -> None:
        if now_ms() < self._next_look_ms:
            return
        self._next_look_ms = now_ms() + SCHEDULE_MS
        self._jobs.send_lost()
        why = self._schedules.due()
        if why is None or any(not record.has_ended for record in self._jobs.records.records()):
            return
        schedule = self._schedules.current()
        budget_s = schedule.budget_s
        if budget_s is None:
            budget_s = self._settings.retrain_budget_s
        record = self._jobs.submit(
            TrainingOrder(
                schedule.model,
                schedule.parameters,
                budget_s=budget_s,
                who="schedule",
                why=why,
                promote_unjudged=schedule.promote_unjudged,
            )
        )
        self._schedules.ordered()
        logger().info("training_scheduled", job=record.id, why=why)
