"""The way of a job to the trainer: RQ carries its id, the record is ours. Nothing else imports RQ.

RQ's own keys (``rq:...``) live where HEDGEROW_JOBS_REDIS_URL says, as JSON, and may be lost: a trainer that starts
finds the queued jobs in our records.
"""

import logging
import signal
from collections.abc import Mapping
from contextlib import suppress
from types import FrameType
from typing import Any, Protocol

import redis
import rq
import rq.exceptions
import rq.job
from redis import exceptions as redis_errors
from rq.serializers import JSONSerializer

from service.errors import StoreUnavailable
from service.store.connection import store_errors
from service.store.jobs.records import JobRecord, JobRecords, now_ms

WORK = "service.cli.trainer.work"
"""What the process of a job calls, with the job's id."""
LONGEST_S = 6 * 3600
"""A job that takes longer is ended."""
TICK_S = 1
"""How often the parent looks around, whether a job runs or not."""

ON_ITS_WAY_MS = 2_000
"""Between the record of a job and its way to RQ."""

COULD_NOT_CONNECT = "could not connect to Redis"
"""In RQ's sentence of an outage."""
IDLE_S = 15
"""RQ waits so much shorter for a job than its worker is kept."""


class Jobs:
    """Orders jobs and tells how they are."""

    def __init__(
        self, client: redis.Redis, queue: redis.Redis, namespace: str, *, work: str = WORK
    ) -> None:
        """``queue`` is a connection to the server that carries the ids, ``client`` one to the store."""
        self.records = JobRecords(client, namespace)
        self._queue, self._work = _queue(queue, namespace), work

    def submit(self, model: str, parameters: Mapping[str, Any], **order: Any) -> JobRecord:
        """Order a training, see ``JobRecords.create``; Backlogged when very many wait."""
        record = self.records.create(model, parameters, **order)
        # it is ordered already: what does not go on its way now, the trainer sends again
        with suppress(StoreUnavailable):
            self._send(record.id)
        return record

    def cancel(self, job: str, who: str) -> JobRecord:
        """End a job; a running one stops within about a second."""
        record = self.records.cancel(job, who)
        # whoever is sent it all the same finds that it has ended
        with suppress(StoreUnavailable), store_errors():
            self._queue.remove(job)
        return record

    def send_lost(self) -> None:
        """Send the queued jobs again that nobody carries: RQ lost them, or a trainer that has ended.

        A job that was ordered just now is still on its way.
        """
        before_ms = now_ms() - ON_ITS_WAY_MS
        with store_errors():
            carried = set(self._queue.get_job_ids())
        for record in reversed(self.records.records()):
            lost = record.status == "queued" and record.id not in carried
            if lost and record.created_ms < before_ms:
                self._send(record.id)

    def _send(self, job: str) -> None:
        with store_errors():
            self._queue.enqueue_call(
                self._work,
                args=(job,),
                job_id=job,
                timeout=LONGEST_S,
                result_ttl=0,
                failure_ttl=0,
                description=f"training {job}",
            )


class Foreman(Protocol):
    """What the parent of the jobs' processes decides."""

    def begin(self, job: str) -> bool:
        """Return whether the job is to be run."""

    def look(self, job: str | None) -> bool:
        """Hear that time has passed; False ends the running job, or without one the work."""

    def failed(self, job: str, error: BaseException) -> None:
        """Hear, in the process of the job, of an error that nobody foresaw."""

    def died(self, job: str, how: str) -> None:
        """Hear that the process of a job ended without a word."""

    def away(self, detail: str) -> None:
        """Hear, again and again, that the server that carries the jobs does not answer."""


class Worker(rq.Worker):
    """RQ's forking worker, whose parent stays small: no thread, no commands, jobs of ours alone."""

    def __init__(self, connection: redis.Redis, namespace: str, foreman: Foreman) -> None:
        super().__init__(
            [_queue(connection, namespace)],
            connection=connection,
            serializer=JSONSerializer,
            worker_ttl=IDLE_S + TICK_S,
            job_monitoring_interval=TICK_S,
            exception_handlers=[self._failed],
            work_horse_killed_handler=self._killed,
        )
        self._foreman = foreman
        self._job: str | None = None

    def run(self) -> None:
        """Take jobs until SIGTERM or SIGINT; a running one is ended then."""
        # RQ warns of each process that ends early; what that means the foreman says
        self.log.addFilter(self._is_no_outage)
        try:
            self.work(logging_level="ERROR")
        finally:
            self.log.removeFilter(self._is_no_outage)

    def execute_job(self, job: rq.job.Job, queue: rq.Queue) -> None:
        """Run a job that is still wanted in a process of its own."""
        if not self._foreman.begin(job.id):
            job.delete()
            return
        self._job = job.id
        try:
            super().execute_job(job, queue)
        finally:
            self._job = None

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        """RQ calls it every TICK_S, idle or not."""
        super().heartbeat(timeout, pipeline)
        if self._foreman.look(self._job):
            return
        if not self.horse_pid:
            raise rq.exceptions.StopRequested
        self.kill_horse()

    def maintain_heartbeats(self, job: rq.job.Job) -> None:
        """Let a job go on while the server is away for a moment."""
        with suppress(redis_errors.ConnectionError, redis_errors.TimeoutError):
            super().maintain_heartbeats(job)

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """End now, the running job too: it can be ordered again, and nothing of it is visible before its end."""
        self._stop_requested = True
        if not self.horse_pid:
            raise rq.exceptions.StopRequested
        self.kill_horse()

    def subscribe(self) -> None:
        """Listen to no commands: that would be a thread, and forking likes none."""

    def unsubscribe(self) -> None:
        """Nothing was subscribed."""

    def _is_no_outage(self, record: logging.LogRecord) -> bool:
        """Leave out what RQ says at each try to reach the server: the foreman tells it, once and then every minute."""
        if COULD_NOT_CONNECT not in str(record.msg):
            return True
        # behind the name of the worker
        self._foreman.away(record.getMessage().partition(": ")[2])
        return False

    def _failed(self, job: rq.job.Job, _: object, error: BaseException, __: object) -> bool:
        self._foreman.failed(job.id, error)
        return True

    def _killed(self, job: rq.job.Job, pid: int | None, code: int | None, usage: Any) -> None:
        stopped = "the trainer was stopped" if self._stop_requested else _ending(code)
        self._foreman.died(job.id, stopped)


def work(connection: redis.Redis, namespace: str, foreman: Foreman) -> None:
    """Take the namespace's jobs until SIGTERM or SIGINT."""
    Worker(connection, namespace, foreman).run()


def _ending(code: int | None) -> str:
    """Say how a process ended by its wait status; None: it was waited for already."""
    if code is None:
        return "its process is gone"
    ended = signal.Signals(code & 0x7F).name if code & 0x7F else f"exit code {code >> 8}"
    return f"its process ended: {ended}"


def _queue(connection: redis.Redis, namespace: str) -> rq.Queue:
    return rq.Queue(f"hedgerow-{namespace}", connection=connection, serializer=JSONSerializer)
