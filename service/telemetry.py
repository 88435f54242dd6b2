"""Logs: lines of JSON on stderr, or a readable form on a terminal. Every event name stands in ``EVENTS``.

An event is a short past-tense name with fields, never a sentence: ``log.info("batch_applied", n=3)``.
``request_id`` is bound by the api through contextvars; no user id at info level, no key or secret at all.
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
    "active_models_failed": "following the registry failed unforeseen; it begins again after a pause",
    "catalogue_view_failed": "following the catalogue failed unforeseen; it begins again after a pause",
    "change_feed_failed": "following a partition's commits failed unforeseen; it begins again after a pause",
    "child_ended": "a child process ended by itself; it is started again after a pause",
    "child_started": "the supervisor started a child process",
    "client_disconnected": "a client went away in the middle of a body; its complete rows are kept",
    "follower_failed": "weighing the rankers failed unforeseen; it goes on after a pause",
    "given_server_not_durable": "the given Redis may lose acknowledged events in a crash",
    "cache_warming_failed": "a model takes over with a cold cache: the next request of each user computes its own order",
    "kernels_loaded": "an api process has loaded the compiled kernels: from now on it predicts and ranks",
    "learner_stands_by": "another learner leads the partition; this one waits until it is gone",
    "learner_started": "a learner leads its partition and reads the log",
    "learner_stopped": "a learner ended as it was told to",
    "learner_superseded": "another learner took over the partition",
    "library_message": "a library logged something",
    "others_not_ordered": "after a training of the schedule the other strategies were not all ordered, Redis was away; its next one does",
    "polling_failed": "looking for changes of something derived failed unforeseen; it begins again after a pause",
    "model_activated": "a model serves in this process from now on, instead of the one before it",
    "model_damaged": "the model that serves cannot be read from the store; a training judges its settings anew",
    "model_not_loaded": "a model that should serve cannot be loaded; the one before it goes on serving",
    "request_failed": "a request ended in an error that nobody foresaw; the answer has its id",
    "service_loading": "the processes of `serve` load their libraries and kernels; `kernels_loaded` ends it",
    "service_stopped": "everything that `serve` started has ended",
    "store_answers": "Redis answers again",
    "store_loading": "the private server reads its files, before anything else can begin",
    "store_restarted": "the private server ended by itself and was started again",
    "store_unavailable": "Redis does not answer; said once, then every minute until it does",
    "trainer_stands_by": "another trainer works for the namespace; this one waits until it is gone",
    "trainer_started": "a trainer waits for trainings that are ordered or due",
    "trainer_superseded": "another trainer works for the namespace; this one stands by",
    "training_died": "the process of a training ended before its work; what served goes on serving",
    "training_ended": "a training has done its work; the gate's decision goes with it",
    "training_failed": "a training could not be done, the reason says why; what served goes on serving",
    "training_given_up": "a training was cancelled",
    "training_not_noted": "a model serves, but Redis was away when the schedule was to count from its training: it orders another one",
    "training_scheduled": "the schedule ordered a training",
    "training_starved": "a training gets hardly any processor, others keep all busy; lower `trainer_nice` gives it more",
    "training_started": "a process begins with a training",
    "warm_up_failed": "the kernels could not be compiled; predictions wait, `/readyz` stays false",
}
"""Every name that is logged, and what it means."""


# verbs that are no role log, too: what they print is for programs to read
structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))

SAID_AGAIN_S = 60.0
"""Between two lines about a store that stays away."""


def logger() -> FilteringBoundLogger:
    """Return the logger; it takes the set-up of the moment when it is used."""
    return cast("FilteringBoundLogger", structlog.get_logger())


class Outage:
    """Tells of a store that is away: when it begins, every minute while it lasts, and when it is over."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._began = self._said = -math.inf

    def lasts(self, detail: str) -> None:
        """Note that the store did not answer."""
        now = self._clock()
        if self._began == -math.inf:
            self._began = now
        if now - self._said >= SAID_AGAIN_S:
            self._said = now
            logger().warning("store_unavailable", detail=detail, for_s=round(now - self._began))

    def over(self) -> None:
        """Note that it did."""
        if self._began > -math.inf:
            logger().info("store_answers", after_s=round(self._clock() - self._began))
            self._began = self._said = -math.inf


def set_up_logs(role: str, level: str, stream: TextIO | None = None) -> None:
    """Send our events and the messages of libraries to ``stream`` (stderr), each line with the role."""
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
    """A library's sentence is not an event's name."""
    event["message"], event["event"] = event["event"], "library_message"
    return event
