"""Jobs of the trainer: our own records, whose status only moves forward.

    queued ──▶ running ──▶ succeeded
       │          ├──────▶ failed      an error, or a trainer that is gone
       └──────────┴──────▶ cancelled   never in the stage that changes the active model

Reading a running job whose trainer has ended, or lost its lease to another, fails the job, so no
record is stale. Only the id travels to the trainer, see ``queue``. Synchronous: the api calls it in
a thread.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any, cast

import redis
from redis import exceptions as redis_errors

from service.errors import Backlogged, Conflict, NotFound
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.jobs.job import (
    PROMOTING,
    UNFINISHED,
    JobRecord,
    Status,
    TrainingOrder,
    packed,
    queued,
    text,
    unpacked,
)
from service.store.keys import NamespaceKeys
from service.store.log.lease import runs

KEPT, KEPT_S = 500, 30 * 86_400
MOST_WAITING = 20
ATTEMPTS = 5
"""Most attempts to write an order while others write theirs."""

_SCRIPT = resources.files(__package__).joinpath("move_job.lua").read_text()
_SCRIPT_SHA = hashlib.sha1(_SCRIPT.encode(), usedforsecurity=False).hexdigest()


def _refuse_backlog(known: Sequence[JobRecord]) -> None:
    waiting = sum(record.status == "queued" for record in known)
    if waiting >= MOST_WAITING:
        raise Backlogged(
            f"{waiting} jobs are waiting already: cancel some, or see that a trainer runs"
        )


class JobGone(Exception):
    """Raised if a worker no longer owns its job: it was cancelled, or is taken for dead."""


class JobRecords:
    """The records of a namespace."""

    def __init__(self, client: redis.Redis, namespace: str, *, kept: int = KEPT) -> None:
        self._client, self._kept = client, kept
        self._keys = NamespaceKeys(namespace)
        self.on_buried: Callable[[], object] = lambda: None
        """Called for each job that failed because its trainer has ended, as was found here."""

    def create(self, order: TrainingOrder) -> JobRecord:
        """Write a new queued job; Backlogged if too many jobs wait."""
        return self._create(queued(order, now_ms()), lambda other: False)

    def create_once(self, order: TrainingOrder, learned: int) -> tuple[JobRecord, bool]:
        """Return the unfinished job of the same order, or else a new one, and whether it is new.

        A running job is the same unless so many events were learned since it began that another
        training is worth it; ``learned`` is their number by now.
        """
        new = queued(order, now_ms())
        found = self._create(new, lambda other: other.does(order, learned))
        return found, found is new

    def _create(self, record: JobRecord, is_same: Callable[[JobRecord], bool]) -> JobRecord:
        pipe: Any
        with store_errors(), self._client.pipeline() as pipe:
            for attempt in range(ATTEMPTS):
                pipe.watch(self._keys.jobs)
                known = self.records()
                same = next((one for one in reversed(known) if is_same(one)), None)
                if same is not None:
                    return same
                _refuse_backlog(known)
                try:
                    pipe.multi()
                    pipe.hset(self._keys.job(record.id), mapping=packed(vars(record)))
                    pipe.expire(self._keys.job(record.id), KEPT_S)
                    pipe.zadd(self._keys.jobs, {record.id: record.created_ms})
                    pipe.execute()
                    break
                except redis_errors.WatchError as error:
                    # redis-py raises the same where the connection broke
                    if attempt + 1 == ATTEMPTS:
                        raise redis_errors.ConnectionError(str(error)) from error
        self._forget_old()
        return record

    def record(self, job: str) -> JobRecord:
        """Return a job as it is now; NotFound if there is none."""
        found = self._read([job])
        if not found:
            raise NotFound(f"there is no job {job!r}: GET /v1/jobs lists those of the last days")
        return found[0]

    def records(self, limit: int | None = None, after: str | None = None) -> list[JobRecord]:
        """Return up to ``limit`` jobs, the newest first; with ``after``, those listed after it."""
        with store_errors():
            stored = cast("list[bytes]", self._client.zrevrange(self._keys.jobs, 0, -1))
        jobs = [name.decode() for name in stored]
        if after is not None:
            jobs = jobs[jobs.index(after) + 1 :] if after in jobs else []
        return self._read(jobs[: self._kept if limit is None else limit])

    def is_cancelled(self, job: str) -> bool:
        """Return whether a job was cancelled, or is no longer there."""
        with store_errors():
            status = self._client.hget(self._keys.job(job), "status")
        return status in {None, text("cancelled")}

    def claim(self, job: str, worker: str, learned: int | None = None) -> bool:
        """Assign a queued job to the worker; False if it is no longer queued."""
        began = {"status": "running", "worker": worker, "learned": learned, **_started()}
        return self._move(job, ("queued",), began)

    def report(self, job: str, worker: str, **changes: Any) -> None:
        """Write the progress of a running job; JobGone if the worker no longer owns it."""
        if not self._move(job, ("running",), changes, worker=worker):
            raise JobGone(job)

    def succeed(self, job: str, worker: str, **results: Any) -> None:
        """Mark a running job as succeeded, with its results."""
        done = {"status": "succeeded", "stage": "", "progress": 1.0, **_ended(), **results}
        self.report(job, worker, **done)

    def fail(self, job: str, error: str) -> bool:
        """Mark an unfinished job as failed; False if it has ended already."""
        return self._move(job, UNFINISHED, {"status": "failed", "error": error, **_ended()})

    def cancel(self, job: str, who: str) -> JobRecord:
        """Cancel an unfinished job; Conflict if it has ended or is just making its model active."""
        change = {"status": "cancelled", "error": f"cancelled by {who}", **_ended()}
        if not self._move(job, UNFINISHED, change, not_in=PROMOTING):
            status = self.record(job).status
            if status == "running":
                raise Conflict("its model is just about to serve: roll it back instead")
            raise Conflict(f"the job has ended already ({status}): there is nothing to cancel")
        return self.record(job)

    def _read(self, jobs: Sequence[str]) -> list[JobRecord]:
        """Return the jobs that exist; fail those that run without a trainer first."""
        records = self._stored(jobs)
        running = [record for record in records if record.status == "running"]
        if not running:
            return records
        with store_errors():
            holder = cast("bytes | None", self._client.get(self._keys.trainer))
        orphans = [record for record in running if not _has_worker(record, holder)]
        for record in orphans:
            self._bury(record)
        return self._stored(jobs) if orphans else records

    def _bury(self, record: JobRecord) -> None:
        was = record.stage or "starting"
        error = f"the trainer that ran it has ended (stage: {was}): retrain again"
        if was == PROMOTING:
            error += ", unless GET /v1/models says that its model serves"
        change = {"status": "failed", "error": error, **_ended()}
        if self._move(record.id, ("running",), change, worker=record.worker):
            self.on_buried()

    def _move(
        self,
        job: str,
        states: tuple[Status, ...],
        changes: Mapping[str, Any],
        *,
        worker: str = "",
        not_in: str = "",
    ) -> bool:
        flat = [part for pair in packed(changes).items() for part in pair]
        wanted = (" ".join(states), text(worker), text(not_in), KEPT_S)
        arguments: Any = (1, self._keys.job(job), *wanted, *flat)
        with store_errors():
            try:
                done = self._client.evalsha(_SCRIPT_SHA, *arguments)
            except redis_errors.NoScriptError:
                done = self._client.eval(_SCRIPT, *arguments)
        return bool(done)

    def _stored(self, jobs: Sequence[str]) -> list[JobRecord]:
        with store_errors():
            pipe = self._client.pipeline(transaction=False)
            for job in jobs:
                pipe.hgetall(self._keys.job(job))
            found = [unpacked(stored) for stored in pipe.execute()]
        return [record for record in found if record is not None]

    def _forget_old(self) -> None:
        with store_errors():
            old = self._client.zrange(self._keys.jobs, 0, -self._kept - 1)
            for name in cast("list[bytes]", old):
                self._client.unlink(self._keys.job(name.decode()))
                self._client.zrem(self._keys.jobs, name)


def _has_worker(record: JobRecord, holder: bytes | None) -> bool:
    """Return whether the trainer of a running job lives, by the holder of the trainer's lease.

    A trainer that a busy machine has kept waiting takes its lease again, if nobody else has.
    """
    if holder is not None:
        return record.worker == holder.decode()
    return runs(record.worker) is True


def _started() -> dict[str, Any]:
    return {"started_ms": now_ms()}


def _ended() -> dict[str, Any]:
    return {"ended_ms": now_ms()}
