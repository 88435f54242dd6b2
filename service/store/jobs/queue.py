"""The queue to the trainer: RQ carries a job's id, the record is ours. Nothing else imports RQ.

RQ's own keys (``rq:...``) are on the server of HEDGEROW_JOBS_REDIS_URL, as JSON, and may be lost: a
trainer that starts finds the queued jobs in our records. RQ's record of a job names a function; our
worker ignores the name and calls the function that it was given. So write access to that Redis does
not allow running code in the trainer.
"""

import logging
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
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
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.jobs.job import JobRecord, TrainingOrder
from service.store.jobs.records import JobRecords

Work = Callable[[str], None]
"""The function that does a job, given its id."""
STORED_NAME = "training"
"""Name of the function in RQ's record of a job: RQ requires one, we never import or call it."""
READ_FIELDS = {
    b"created_at",
    b"description",
    b"ended_at",
    b"enqueued_at",
    b"failure_ttl",
    b"last_heartbeat",
    b"origin",
    b"result_ttl",
    b"started_at",
    b"status",
    b"timeout",
    b"worker_name",
}
"""Fields of RQ's record that we read; others name functions to call and addresses to notify."""
LONGEST_S = 6 * 3600
"""Seconds after which a running job is ended."""
TICK_S = 1
"""Seconds between two calls of the foreman's ``look``, whether a job runs or not."""

ON_ITS_WAY_MS = 2_000
"""Milliseconds within which a job with a record is still on its way to RQ."""

COULD_NOT_CONNECT = "could not connect to Redis"
"""Part of RQ's log message about an outage."""
QUITTING = "quitting..."
"""Part of RQ's log message when an error ends it."""
OUTAGES = (StoreUnavailable, redis_errors.ConnectionError, redis_errors.TimeoutError)
IDLE_S = 15
"""Seconds by which RQ's wait for a job is shorter than the lifetime of its worker."""


class Jobs:
    """Orders and cancels jobs."""

    def __init__(self, client: redis.Redis, queue: redis.Redis, namespace: str) -> None:
        """``queue`` connects to the server that carries the ids, ``client`` to the store."""
        self.records = JobRecords(client, namespace)
        self._queue = _queue(queue, namespace, CarriedJob)

    def submit(self, order: TrainingOrder) -> JobRecord:
        """Order a training, see ``JobRecords.create``; Backlogged if too many jobs wait."""
        record = self.records.create(order)
        # the record is the order: the trainer sends jobs again that could not be sent now
        with suppress(StoreUnavailable):
            self._send(record.id)
        return record

    def submit_once(self, order: TrainingOrder, learned: int) -> tuple[JobRecord, bool]:
        """Order a training unless the same order waits or runs, see ``JobRecords.create_once``.

        The answer says whether the job is new.
        """
        record, is_new = self.records.create_once(order, learned)
        if is_new:
            with suppress(StoreUnavailable):
                self._send(record.id)
        return record, is_new

    def cancel(self, job: str, who: str) -> JobRecord:
        """End a job; a running one stops within about a second."""
        record = self.records.cancel(job, who)
        # a trainer that receives the job all the same finds that it has ended
        with suppress(StoreUnavailable), store_errors():
            self._queue.remove(job)
        return record

    def send_lost(self) -> None:
        """Send again the queued jobs that RQ, or a trainer that has ended, has lost.

        A job that was ordered just now is left alone: it is still on its way.
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
                STORED_NAME,
                args=(job,),
                job_id=job,
                timeout=LONGEST_S,
                result_ttl=0,
                failure_ttl=0,
                description=f"training {job}",
            )


class CarriedJob(rq.job.Job):
    """A job in RQ's form: little more than an id."""

    def restore(self, raw_data: Mapping[bytes, bytes]) -> None:
        """Read RQ's record without the functions, callbacks and web hooks that it names."""
        data = self.serializer.dumps((STORED_NAME, None, (self.id,), {}))
        read = {name: value for name, value in raw_data.items() if name in READ_FIELDS}
        super().restore({**read, b"data": data})


def _job_that_does(work: Work) -> type[CarriedJob]:
    class WorkingJob(CarriedJob):
        def perform(self) -> None:
            work(self.id)

    return WorkingJob


class Foreman(Protocol):
    """The decisions of the process that forks and watches the jobs' processes."""

    def begin(self, job: str) -> bool:
        """Return whether to run the job."""

    def look(self, job: str | None) -> bool:
        """Called every TICK_S; False ends the running job or, without one, the worker."""

    def failed(self, job: str, error: BaseException) -> None:
        """Called in the process of the job after an unexpected error."""

    def died(self, job: str, how: str) -> None:
        """Called when the process of a job has ended, and nobody told the worker to stop."""

    def stopped(self, job: str) -> None:
        """Called when the process of a job has ended because the worker was told to stop."""

    def ended(self, job: str) -> None:
        """Called after the process of a job has ended, in whatever way."""

    def away(self, detail: str) -> None:
        """Called repeatedly while the server that carries the jobs does not answer."""


class Worker(rq.Worker):
    """RQ's forking worker, kept small: no thread, no remote commands, one kind of work."""

    def __init__(
        self,
        connection: redis.Redis,
        namespace: str,
        stop: threading.Event,
        foreman: Foreman,
        work: Work,
    ) -> None:
        job_class = _job_that_does(work)
        with warnings.catch_warnings():
            # RQ asks for its own address, which nobody reads; a user with few rights may not ask
            warnings.filterwarnings("ignore", message="CLIENT LIST command not supported")
            super().__init__(
                [_queue(connection, namespace, job_class)],
                connection=connection,
                job_class=job_class,
                serializer=JSONSerializer,
                worker_ttl=IDLE_S + TICK_S,
                job_monitoring_interval=TICK_S,
                exception_handlers=[self._failed],
                work_horse_killed_handler=self._killed,
            )
        self._stop, self._foreman = stop, foreman
        self._job: str | None = None
        self._outage: Exception | None = None
        """Why RQ has given up."""

    def run(self) -> None:
        """Take jobs until SIGTERM or SIGINT, which set ``stop`` and end a running job, too.

        Raises StoreUnavailable if RQ gives up, or signs off, while the server does not answer.
        """
        # RQ warns of each process that ends early; the foreman says what it means
        self.log.addFilter(self._is_no_outage)
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            with store_errors():
                self.work(logging_level="ERROR")
                if self._outage is not None:
                    raise self._outage
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            self.log.removeFilter(self._is_no_outage)

    def execute_job(self, job: rq.job.Job, queue: rq.Queue) -> None:
        """Run a job in a process of its own, if the foreman still wants it."""
        if not self._foreman.begin(job.id):
            job.delete()
            return
        self._job = job.id
        try:
            super().execute_job(job, queue)
        finally:
            self._job = None
            self._foreman.ended(job.id)

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        """Ask the foreman whether to go on; RQ calls this every TICK_S, idle or not."""
        if not self._stop.is_set():
            super().heartbeat(timeout, pipeline)
            if self._foreman.look(self._job):
                return
        if not self.horse_pid:
            raise rq.exceptions.StopRequested
        self.kill_horse()

    def set_current_job_working_time(
        self, current_job_working_time: float, pipeline: Any = None
    ) -> None:
        """Let a job go on during a short outage: RQ calls this just before the next."""
        with suppress(redis_errors.ConnectionError, redis_errors.TimeoutError):
            super().set_current_job_working_time(current_job_working_time, pipeline)

    def maintain_heartbeats(self, job: rq.job.Job) -> None:
        """Let a job go on during a short outage of the server."""
        with suppress(redis_errors.ConnectionError, redis_errors.TimeoutError):
            super().maintain_heartbeats(job)

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """End at once, with the running job.

        Nothing of a job is visible before its end, and it can be ordered again.
        """
        # RQ forgets its own flag with the worker, which an outage may end before it looks at it
        self._stop.set()
        self._stop_requested = True
        if not self.horse_pid:
            raise rq.exceptions.StopRequested
        self.kill_horse()

    def subscribe(self) -> None:
        """Listen to no commands: that needs a thread, which makes forking unsafe."""

    def unsubscribe(self) -> None:
        """Nothing was subscribed."""

    def _is_no_outage(self, record: logging.LogRecord) -> bool:
        """Filter out what RQ says of an outage, at each attempt to reconnect or as it gives up.

        The foreman logs an outage once and then every minute.
        """
        if COULD_NOT_CONNECT in str(record.msg):
            # the message follows the name of the worker
            self._foreman.away(record.getMessage().partition(": ")[2])
            return False
        error = sys.exception()
        if QUITTING in str(record.msg) and isinstance(error, OUTAGES):
            self._outage = error
            return False
        return True

    def _failed(self, job: rq.job.Job, _: object, error: BaseException, __: object) -> bool:
        self._foreman.failed(job.id, error)
        return True

    def _killed(self, job: rq.job.Job, pid: int | None, code: int | None, usage: Any) -> None:
        if self._stop_requested:
            self._foreman.stopped(job.id)
        else:
            self._foreman.died(job.id, _ending(code))


def take_jobs(
    connection: redis.Redis,
    namespace: str,
    stop: threading.Event,
    foreman: Foreman,
    work: Work,
) -> None:
    """Do the namespace's jobs, each in a process of its own, until SIGTERM or SIGINT.

    These set ``stop``, also if it then ends with StoreUnavailable.
    """
    Worker(connection, namespace, stop, foreman, work).run()


def _ending(code: int | None) -> str:
    """Say how a process ended, by its wait status; None if somebody else waited for it."""
    if code is None:
        return "its process is gone"
    ended = signal.Signals(code & 0x7F).name if code & 0x7F else f"exit code {code >> 8}"
    return f"its process ended: {ended}"


def _queue(connection: redis.Redis, namespace: str, job_class: type[CarriedJob]) -> rq.Queue:
    return rq.Queue(
        f"hedgerow-{namespace}",
        connection=connection,
        job_class=job_class,
        serializer=JSONSerializer,
    )
