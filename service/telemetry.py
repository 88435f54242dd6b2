"""Logs: lines of JSON on stderr, or a readable form on a terminal; ``EVENTS`` lists every name.

An event is a short name in the past tense with fields, never a sentence:
``log.info("batch_applied", n=3)``. No user id is logged at info level, no key or secret at all.
"""

import logging
import math
import sys
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

EVENTS = {
    "act_not_noted": "an operator's act is not in the audit log, because Redis was away",
    "active_models_failed": "an unexpected error while following the registry; it is retried",
    "cache_warming_failed": "a model takes over with a cold cache; the next request of each user "
    "computes its own order",
    "catalogue_view_failed": "an unexpected error while following the catalogue; it is retried",
    "change_feed_failed": "an unexpected error while following commits of a partition; retried",
    "child_ended": "a child process ended by itself; it is started again after a pause",
    "child_hangs": "a child process was suspended, or got no processor; it is started again",
    "child_started": "the supervisor started a child process",
    "client_disconnected": "a client left before the end of a body; its complete rows are kept",
    "deletion_repeated": "the deletion of a user was set aside, so it was appended to the log "
    "again; the erasure waits until that is learned",
    "disk_has_room": "the private server takes writes again",
    "disk_nearly_full": "the private server takes no writes: less than `disk_reserve_mb` is free",
    "documents_unreadable": "an erasure met documents that cannot be read and may name the user; "
    "delete the users whose documents they are",
    "entry_set_aside": "a log entry could not be learned; it waits in `hedgerow dead-letters`",
    "fewer_connections": "the system allows fewer open files than the connections that are wanted",
    "follower_failed": "an unexpected error while judging the rankers; it continues after a pause",
    "events_learned": "events of a request that is followed (`log_requests`) are learned, through "
    "this sequence",
    "experiment_stopped": "an arm of an experiment lost more than its guardrail allows",
    "given_server_not_durable": "the given Redis may lose acknowledged events in a crash",
    "ingest_not_held": "the broker may give messages again that `hedgerow ingest` still works on",
    "ingest_partitions": "Kafka gave partitions to this `hedgerow ingest`, or took them away",
    "ingest_started": "`hedgerow ingest` reads its stream",
    "ingest_waits": "the broker or the service is away; `hedgerow ingest` tries again",
    "kernels_loaded": "an api process has loaded its compiled kernels and can predict and rank",
    "learner_stands_by": "another learner leads the partition; this one waits until it is gone",
    "learner_started": "a learner leads its partition and reads the log",
    "learner_starts_over": "the store was restarted or went back; the learner reads all again",
    "learner_stopped": "a learner ended because it was told to",
    "learner_superseded": "another learner took over the partition",
    "library_message": "a message of a library",
    "message_set_aside": "a message of a broker could not be accepted whole; it is a dead letter",
    "metrics_apart": "a process cannot write its counts into the data directory; only it shows "
    "them",
    "metrics_left_out": "there is no room for a new series of counts; the process goes on without",
    "model_activated": "a model serves in this process instead of the previous one",
    "model_damaged": "the active model cannot be read from the store; a training compares with a "
    "new fit of its settings",
    "model_not_loaded": "the active model cannot be loaded; the previous one keeps serving",
    "others_not_ordered": "Redis was away after a scheduled training, so the trainings of the "
    "other strategies were not requested; the next scheduled training requests them",
    "polling_failed": "an unexpected error while polling for derived data; it is retried",
    "recipe_tried": "the outcome of one recipe in a training that names none: its figures alone, "
    "what it adds to the others, and the decision of the gate",
    "request_answered": "a request that is followed (`log_requests`) was answered",
    "request_failed": "a request ended in an unexpected error; the answer has the request id",
    "rewrite_failed": "the private server could not write its file anew, so deleted users stay on "
    "the disk; tried again",
    "service_loading": "the processes of `serve` load libraries and kernels until `kernels_loaded`",
    "service_stopped": "everything that `serve` started has ended",
    "stack_not_foretold": "models serve, but Redis was away when a training was to store the first "
    "weights of their stack; the followers learn them from events",
    "store_answers": "Redis answers again",
    "store_changed": "the store was restarted, or went back: this process has dropped its copies "
    "and reads again",
    "store_not_remembered": "the data directory cannot be written: a loss of the store while "
    "nothing runs would stay unnoticed",
    "store_refused": "the store has lost what this process knows of, and what is left may not be "
    "used: everything that would be written is refused",
    "store_rolled_back": "the store has lost events or items; what is left fits together, and a "
    "new era begins: known is what was known, found is what is left",
    "store_loading": "the server reads its files; everything else waits for it",
    "store_not_restarted": "the private server cannot start because the disk is full; tried again",
    "store_restarted": "the private server ended by itself and was started again",
    "store_unavailable": "Redis does not answer; repeated every minute until it does",
    "store_watch_failed": "an unexpected error while looking at the store; it is looked at again",
    "trainer_stands_by": "another trainer works for the namespace; this one waits until it is gone",
    "trainer_started": "a trainer waits for trainings that are requested or due",
    "trainer_superseded": "another trainer took over the namespace; this one stands by",
    "training_died": "the process of a training ended early; the previous model keeps serving",
    "no_first_model": "the usual recipe could not serve before the others were fitted",
    "training_ended": "a training has ended; the event has the decision of the gate",
    "training_failed": "a training failed, see the reason; the previous model keeps serving",
    "training_given_up": "a training was cancelled, or its trainer was told to stop",
    "training_not_noted": "a model serves, but Redis was away when the schedule was to record its "
    "training: the schedule will request another one",
    "training_scheduled": "the schedule requested a training",
    "training_starved": "a training gets hardly any processor time because others use it all; a "
    "lower `trainer_nice` gives it more",
    "training_started": "a process begins a training",
    "users_erased": "the store names deleted users no longer",
    "users_erased_from_disk": "the private server's file names deleted users no longer",
    "users_not_erased": "links were written faster than deleted users could be taken out of them; "
    "the erasure begins anew",
    "warm_up_failed": "the kernels could not be compiled; predictions wait, `/readyz` stays false",
    "webhook_disabled": "a receiver answered 410 Gone, so its webhook is sent nothing more",
    "webhook_given_up": "a delivery to a webhook was tried for more than a day, or its receiver "
    "wants nothing any longer; GET /v1/webhooks/{webhook}/deliveries has it",
}
"""Every event in the logs, and its meaning."""


# verbs log too, to stderr: programs read their stdout
structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))

SAID_AGAIN_S = 60.0
"""Seconds between two lines about an outage of the store."""


def logger() -> FilteringBoundLogger:
    """Return the logger; it uses the configuration at the time of each call."""
    return cast("FilteringBoundLogger", structlog.get_logger())


class Outage:
    """Logs an outage of the store: its beginning, every minute, and its end."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._began = self._said = -math.inf

    def lasts(self, detail: str) -> None:
        """Record that the store did not answer."""
        now = self._clock()
        if self._began == -math.inf:
            self._began = now
        if now - self._said >= SAID_AGAIN_S:
            self._said = now
            logger().warning("store_unavailable", detail=detail, for_s=round(now - self._began))

    def over(self) -> None:
        """Record that the store answered."""
        if self._began > -math.inf:
            logger().info("store_answers", after_s=round(self._clock() - self._began))
            self._began = self._said = -math.inf


def set_up_logs(role: str, level: str, stream: TextIO | None = None) -> None:
    """Send our events and the messages of libraries to ``stream`` (stderr), each with the role."""
    stream = stream or sys.stderr
    number = logging.getLevelNamesMapping()[level.upper()]
    shared = _shared(role)
    final = _final(pretty=stream.isatty())
    structlog.configure(
        processors=[*shared, *final],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, _as_field],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(number, logging.WARNING), force=True)


def _shared(role: str) -> list[Processor]:
    def add_role(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
        event["role"] = role
        return event

    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        add_role,
    ]


def _final(*, pretty: bool) -> Sequence[Processor]:
    # no locals in either form: they hold ids and keys
    if pretty:
        readable = structlog.dev.RichTracebackFormatter(show_locals=False)
        return [structlog.dev.ConsoleRenderer(timestamp_key="time", exception_formatter=readable)]
    tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    return [
        structlog.processors.ExceptionRenderer(tracebacks),
        structlog.processors.JSONRenderer(),
    ]


def _as_field(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Move the sentence of a library out of the event's name."""
    event["message"], event["event"] = event["event"], "library_message"
    return event
