"""The main loop of a learner: wait for the lease, take over, and learn until stopped."""

import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

from core.online.model import OnlineModel
from service.configs import online_config
from service.errors import StoreUnavailable, Superseded
from service.learning.following.follower import following
from service.learning.learner import Learner
from service.learning.learning_step import warm_up
from service.settings import Settings
from service.store.connection import connect
from service.store.keys import PartitionKeys
from service.store.log.lease import Lease
from service.store.namespace import open_namespace
from service.telemetry import Outage, logger

T = TypeVar("T")

PAUSE_S = 0.25
"""Seconds between two tries while the store does not answer or another learner has the lease."""


def learn_partition(
    settings: Settings, redis_url: str, partition: int, stop: threading.Event
) -> None:
    """Learn a partition until ``stop`` is set: wait for its lease, take over, and learn.

    Raises Superseded when another learner took over; the caller may start again as a standby.
    """
    log = logger().bind(partition=partition)
    with connect(redis_url, role=f"learner-{partition}") as client:
        namespace = _when_answered(stop, lambda: open_namespace(client, settings))
        if namespace is None:
            return
        warm_up(OnlineModel(online_config(settings, namespace)))
        lease = Lease(client, PartitionKeys(namespace.name, partition).lease, settings.lease_ms)
        waiting = False
        while not _when_answered(stop, lease.acquire):
            if not waiting:
                log.info("learner_stands_by")
            waiting = True
            if stop.wait(PAUSE_S):
                return
        try:
            learner = _when_answered(stop, lambda: Learner(settings, client, namespace, partition))
            if learner is not None:
                log.info("learner_started", epoch=learner.state.epoch, watermark=learner.watermark)
                with following(settings, redis_url, namespace, partition, learner.follower_inbox):
                    _learn_on(learner, lease, stop)
                log.info("learner_stopped", watermark=learner.watermark)
        finally:
            with contextlib.suppress(StoreUnavailable):
                lease.release()


def _learn_on(learner: Learner, lease: Lease, stop: threading.Event) -> None:
    """Learn batch by batch until ``stop`` is set; while the store does not answer, try again."""
    outage = Outage()
    with contextlib.closing(learner):
        while not stop.is_set():
            try:
                if not lease.keep():
                    raise Superseded("another learner holds the lease of this partition")
                if not learner.step():
                    # a rebuild may have swapped the rows: restart before the next event comes
                    learner.check_epoch()
                outage.over()
            except StoreUnavailable as error:
                outage.lasts(error.detail)
                stop.wait(PAUSE_S)
        with contextlib.suppress(StoreUnavailable):
            learner.settle()


def _when_answered(stop: threading.Event, attempt: Callable[[], T]) -> T | None:
    """Return the result of ``attempt`` once the store answers; None if ``stop`` is set before."""
    outage = Outage()
    while not stop.is_set():
        try:
            result = attempt()
        except StoreUnavailable as error:
            outage.lasts(error.detail)
            stop.wait(PAUSE_S)
        else:
            outage.over()
            return result
    return None
