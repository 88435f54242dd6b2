"""Jobs of the trainer: our own records, whose status only moves forward.

    queued ──▶ running ──▶ succeeded
       │          ├──────▶ failed      an error, or a trainer that is gone
       └──────────┴──────▶ cancelled   never in the stage that changes the active model

Reading a running job whose trainer has ended, or lost its lease to another, fails the job, so no
record is stale. Only the id travels to the trainer, see ``queue``. Synchronous: the api calls it in
a thread.
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import resources
from typing import Any, Literal, cast

import msgspec
import redis
from redis import exceptions as redis_errors

from service.errors import Backlogged, Conflict, NotFound
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.jobs.growth import enough
from service.store.keys import NamespaceKeys
from service.store.log.lease import runs

Status = Literal["queued", "running", "succeeded", "failed", "cancelled"]
UNFINISHED: tuple[Status, ...] = ("queued", "running")
PROMOTING = "promoting"
"""The last stage. It cannot be cancelled; the model that it makes active can be rolled back."""

ORDERED = "order"
"""The ``why`` of a job that was ordered on request; the schedule orders the others."""
KEPT, KEPT_S = 500, 30 * 86_400
MOST_WAITING = 20
ATTEMPTS = 5
"""Most attempts to write an order while others write theirs."""

_SCRIPT = resources.files(__package__).joinpath("move_job.lua").read_text()
_SCRIPT_SHA = hashlib.sha1(_SCRIPT.encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class JobRecord:
    """A job as it is stored."""

    id: str
    status: Status
    model: str | None
    """The ordered recipe; None: whatever is worth training."""
    parameters: dict[str, Any]
    """Stated settings of the recipe; the others are searched."""
    budget_s: float
    """Seconds that the search of settings may take."""
    who: str
    """Origin of the order: a key's name, ``command line``, ``schedule``."""
    why: str
    """Cause of the order: order, cron, events, drift."""
    created_ms: int
    promote_unjudged: bool = False
    """Whether the model may serve if nobody can judge it."""
    started_ms: int | None = None
    ended_ms: int | None = None
    stage: str = ""
    """Current stage of a running job."""
    recipe: str = ""
    """The recipe at work in a job that names none."""
    tried: list[dict[str, Any]] = field(default_factory=list)
    """All recipes that a job without one has considered, and the outcome of each."""
    progress: float = 0.0
    """Share of the job that is done, 0 to 1."""
    worker: str = ""
    """Token of the trainer that runs it."""
    error: str | None = None
    """Reason of the failure or cancellation, and a remedy."""
    metrics: dict[str, Any] = field(default_factory=dict)
    decision: dict[str, Any] = field(default_factory=dict)
    """Decision of the gate: outcome, reason and the figures behind it."""
    version: str | None = None
    """Version of the model that it published; None for a job without a recipe: see ``tried``."""

    learned: int | None = None
    """Number of events that were learned when it began; None before that."""

    def does(self, order: "JobRecord", learned: int) -> bool:
        """Return whether a job does what an order asks for, when so many events are learned."""
        names = ("model", "parameters", "budget_s", "promote_unjudged")
        if any(getattr(self, name) != getattr(order, name) for name in names):
            return False
        if self.status == "running" and self.learned is not None:
            return learned - self.learned < enough(self.learned)
        return not self.has_ended

    @property
    def has_ended(self) -> bool:
        """Whether the job is in a final state."""
        return self.status not in UNFINISHED


def _ordered(
    model: str | None,
    parameters: Mapping[str, Any],
    budget_s: float,
    who: str,
    why: str,
    promote_unjudged: bool,
) -> JobRecord:
    return JobRecord(
        id=secrets.token_hex(8),
        status="queued",
        model=model,
        parameters=dict(parameters),
        budget_s=budget_s,
        who=who,
        why=why,
        created_ms=now_ms(),
        promote_unjudged=promote_unjudged,
    )


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

    def create(
        self,
        model: str | None,
        parameters: Mapping[str, Any],
        *,
        budget_s: float,
        who: str,
        why: str,
        promote_unjudged: bool = False,
    ) -> JobRecord:
        """Write a new queued job; Backlogged if too many jobs wait."""
        order = _ordered(model, parameters, budget_s, who, why, promote_unjudged)
        return self._create(order, lambda other: False)

    def create_once(
        self,
        model: str | None,
        parameters: Mapping[str, Any],
        *,
        budget_s: float,
        who: str,
        why: str,
        promote_unjudged: bool,
        learned: int,
    ) -> tuple[JobRecord, bool]:
        """Return the unfinished job of the same order, or else a new one, and whether it is new.

        A running job is the same unless so many events were learned since it began that another
        training is worth it; ``learned`` is their number by now.
        """
        order = _ordered(model, parameters, budget_s, who, why, promote_unjudged)
        found = self._create(order, lambda other: other.does(order, learned))
        return found, found is order

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
                    pipe.hset(self._keys.job(record.id), mapping=_packed(vars(record)))
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
        return status in {None, _text("cancelled")}

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
        self._move(record.id, ("running",), change, worker=record.worker)

    def _move(
        self,
        job: str,
        states: tuple[Status, ...],
        changes: Mapping[str, Any],
        *,
        worker: str = "",
        not_in: str = "",
    ) -> bool:
        flat = [part for pair in _packed(changes).items() for part in pair]
        wanted = (" ".join(states), _text(worker), _text(not_in), KEPT_S)
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
            found = [_unpacked(stored) for stored in pipe.execute()]
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


def _text(value: str) -> bytes:
    """Return a text in the form of the record; an empty text stays empty."""
    return msgspec.json.encode(value) if value else b""


def _packed(values: Mapping[str, Any]) -> dict[Any, Any]:
    return {name: msgspec.json.encode(value) for name, value in values.items()}


def _unpacked(stored: Mapping[bytes, bytes]) -> JobRecord | None:
    known = {entry.name for entry in fields(JobRecord)}
    values = {name.decode(): msgspec.json.decode(value) for name, value in stored.items()}
    # a hash without an id expired between two commands
    return JobRecord(**{n: v for n, v in values.items() if n in known}) if "id" in values else None
