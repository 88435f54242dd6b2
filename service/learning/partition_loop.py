"""The main loop of a learner: wait for the lease, take over, and learn until stopped."""

import contextlib
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol, TypeVar

from core.online.model import OnlineModel
from service.configs import online_config
from service.errors import ServiceError, StoreRolledBack, StoreUnavailable, Superseded
from service.learning.following.follower import following
from service.learning.following.inbox import Inbox
from service.learning.learner import Learner
from service.learning.learning_step import warm_up
from service.metrics.meters import Meters
from service.settings import Settings
from service.store.connection import Client, connect
from service.store.identity.identity import Identity
from service.store.identity.known import Positions
from service.store.keys import PartitionKeys
from service.store.log.lease import Lease
from service.store.namespace import Namespace, open_namespace
from service.store.recovery.settling import settle
from service.telemetry import Outage, logger

T = TypeVar("T")

PAUSE_S = 0.25
"""Seconds between two tries while the store does not answer or another learner has the lease."""

Follow = Callable[[Namespace, Inbox], AbstractContextManager[None]]
"""Runs a follower of a learner, whose inbox it empties."""


class Stop(Protocol):
    """Says when to stop, as ``threading.Event`` does; waiting for it is how a learner pauses."""

    def is_set(self) -> bool:
        """Return whether to stop."""

    def wait(self, timeout: float) -> bool:
        """Pause for some seconds, or until it is set; return whether it is."""


def learn_partition(
    settings: Settings,
    redis_url: str,
    partition: int,
    stop: threading.Event,
    meters: Meters | None = None,
) -> None:
    """Learn a partition until ``stop`` is set: wait for its lease, take over, and learn.

    Raises Superseded when another learner took over; the caller may start again as a standby. When
    the store was restarted or has lost something, everything is read again from what it holds.
    """
    with connect(redis_url, role=f"learner-{partition}") as client:
        namespace = _when_sound(stop, lambda: open_namespace(client, settings))
        if namespace is None:
            return
        warm_up(OnlineModel(online_config(settings, namespace)))

        def follow(namespace: Namespace, inbox: Inbox) -> AbstractContextManager[None]:
            return following(settings, redis_url, namespace, partition, inbox)

        Leader(settings, client, namespace, partition, follow=follow, meters=meters).lead_on(stop)


class Leader:
    """Leads a partition in one life of the store after the other."""

    def __init__(
        self,
        settings: Settings,
        client: Client,
        namespace: Namespace,
        partition: int,
        *,
        follow: Follow,
        clock: Callable[[], float] = time.monotonic,
        meters: Meters | None = None,
    ) -> None:
        """``clock`` decides when to renew the lease, in seconds."""
        self._settings, self._client, self._clock = settings, client, clock
        self._meters = meters
        self._namespace, self._partition, self._follow = namespace, partition, follow
        self._identity = Identity.parse(namespace.identity)
        self._watermark = 0
        self.log = logger().bind(partition=partition)

    def lead_on(self, stop: Stop) -> None:
        """Lead until ``stop`` is set, however often the store starts over."""
        while not stop.is_set():
            try:
                self._lead(stop)
                return
            except StoreRolledBack as error:
                self.log.warning("learner_starts_over", reason=error.detail)
                _when_sound(stop, self._settle)

    def _lead(self, stop: Stop) -> None:
        """Wait for the lease, take over, and learn until ``stop`` is set."""
        client, namespace, partition = self._client, self._namespace, self._partition
        key = PartitionKeys(namespace.name, partition).lease
        lease = Lease(client, key, self._settings.lease_ms, self._clock)
        if not self._acquired(lease, stop):
            return
        try:
            learner = _when_answered(
                stop,
                lambda: Learner(self._settings, client, namespace, partition, meters=self._meters),
            )
            if learner is not None:
                self._learn(learner, lease, stop)
        finally:
            with contextlib.suppress(StoreUnavailable):
                lease.release()

    def _settle(self) -> None:
        """Return when the store may be used again; StoreRolledBack while it may not."""
        sequences = [0] * self._namespace.partitions
        sequences[self._partition] = self._watermark
        known = Positions(tuple(sequences))
        found = settle(self._client, self._namespace.name, self._identity, known)
        if found.identity is not None:
            self._identity, self._watermark = found.identity, 0
            self._namespace = replace(self._namespace, identity=str(found.identity))

    def _acquired(self, lease: Lease, stop: Stop) -> bool:
        waiting = False
        while not _when_answered(stop, lease.acquire):
            if not waiting:
                self.log.info("learner_stands_by")
            waiting = True
            if stop.wait(PAUSE_S):
                return False
        return True

    def _learn(self, learner: Learner, lease: Lease, stop: Stop) -> None:
        self.log.info("learner_started", epoch=learner.state.epoch, watermark=learner.watermark)
        try:
            with self._follow(self._namespace, learner.follower_inbox):
                _learn_on(learner, lease, stop)
        finally:
            self._watermark = learner.watermark
        self.log.info("learner_stopped", watermark=learner.watermark)


def _learn_on(learner: Learner, lease: Lease, stop: Stop) -> None:
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


def _when_answered(
    stop: Stop,
    attempt: Callable[[], T],
    passing: tuple[type[ServiceError], ...] = (StoreUnavailable,),
) -> T | None:
    """Return the result of ``attempt`` once the store answers; None if ``stop`` is set before."""
    outage = Outage()
    while not stop.is_set():
        try:
            result = attempt()
        except passing as error:
            outage.lasts(error.detail)
            stop.wait(PAUSE_S)
        else:
            outage.over()
            return result
    return None


def _when_sound(stop: Stop, attempt: Callable[[], T]) -> T | None:
    """*Same as* ``_when_answered``, once the store is the one that is known, too."""
    return _when_answered(stop, attempt, (StoreUnavailable, StoreRolledBack))
