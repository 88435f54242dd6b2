"""Automatic retraining: the stored schedule, and whether it is due.

The schedule is written by compare-and-set. The trainer polls ``due``; nothing here starts a job.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

import msgspec
import redis
from redis import exceptions as redis_errors

from service.cron import cron_problem, moment_before
from service.errors import InvalidSchedule, VersionConflict
from service.ranking.strategies import meant
from service.settings import Settings
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.jobs.drift import drift
from service.store.jobs.growth import FEWEST_USERS, OUTGROWN, Rush, enough
from service.store.jobs.last_retrain import LastRetrain, LastRetrains
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.state import read_state


@dataclass(frozen=True)
class Schedule:
    """The conditions for automatic training: any one of them starts a training."""

    cron: str | None = None
    """Five fields, in UTC: ``0 4 * * *`` is every day at four."""
    after_events: int | None = None
    """New events of the log since the last training, impressions included."""
    by_growth: bool = False
    """Whether growth of the log by a share of its size counts (``Schedules.after_events``)."""
    drift: float | None = None
    """Ratio of the recent online error to the usual one that starts a training."""
    model: str | None = None
    """The recipe to train; None: whatever is worth training."""
    parameters: dict[str, Any] = field(default_factory=dict)
    budget_s: float | None = None
    """Seconds for the search of settings; None: the default."""
    promote_unjudged: bool = False
    """Whether a model may serve if nobody can judge it."""
    of_settings: bool = False
    """Whether the settings decide, because no schedule was set or it was reset."""
    version: int = 0
    """Number of changes so far."""
    who: str = ""
    changed_ms: int = 0


def default_schedule(settings: Settings) -> Schedule:
    """Return the schedule by the settings, which holds until one is set."""
    return Schedule(
        cron=settings.retrain_cron,
        after_events=settings.retrain_after_events or None,
        by_growth=settings.retrain_after_events is None,
        drift=settings.retrain_on_drift,
        of_settings=True,
    )


class Schedules:
    """The schedule of a namespace."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self._client, self._default = client, default_schedule(settings)
        check(self._default)
        self._pause_ms = int(1_000 * settings.retrain_pause_s)
        self._keys = NamespaceKeys(settings.namespace)
        self._partitions = [
            PartitionKeys(settings.namespace, p) for p in range(settings.partitions)
        ]
        self._last = LastRetrains(client, self._keys.last_retrain, settings.partitions)
        self._rush = Rush()

    def current(self) -> Schedule:
        """Return the schedule as it is now."""
        with store_errors():
            stored = cast("bytes | None", self._client.get(self._keys.schedule))
        if stored is None:
            return self._default
        found = _unpacked(stored)
        if not found.of_settings:
            return found
        # the settings may have changed since the reset
        changed = {name: getattr(found, name) for name in ("version", "who", "changed_ms")}
        return replace(self._default, **changed)

    def replace(self, schedule: Schedule, who: str, expected: int | None = None) -> Schedule:
        """Replace the schedule at version ``expected``, None for any; VersionConflict otherwise."""
        check(schedule)
        pipe: Any
        with store_errors(), self._client.pipeline() as pipe:
            while True:
                try:
                    pipe.watch(self._keys.schedule)
                    old = pipe.get(self._keys.schedule)
                    version = 0 if old is None else _unpacked(old).version
                    if expected is not None and expected != version:
                        raise VersionConflict(
                            f"the schedule is at version {version}, not {expected}: read it again"
                        )
                    model = meant(schedule.model, schedule.parameters)
                    new = replace(
                        schedule, model=model, version=version + 1, who=who, changed_ms=now_ms()
                    )
                    pipe.multi()
                    pipe.set(self._keys.schedule, msgspec.json.encode(asdict(new)))
                    # orders that failed before may succeed with the new schedule
                    pipe.hset(self._keys.last_retrain, "tries", 0)
                    pipe.execute()
                    return new
                except redis_errors.WatchError:
                    continue

    def reset(self, who: str) -> Schedule:
        """Let the settings decide again."""
        return self.replace(self._default, who)

    def trainer_came(self) -> None:
        """Note that a trainer starts: later trainings pause before its first order."""
        self._last.trainer_came()

    def ordered(self) -> None:
        """Note that the schedule orders a training; the pause grows with the orders that fail."""
        self._rush.forget()
        self._last.ordered(self.learned())

    def trained(self, model: str | None, began_ms: int, watermarks: Sequence[int]) -> bool:
        """Note a successful training; return whether its model is the schedule's.

        If it is, the conditions count from the beginning of this training.
        """
        if model != self.current().model:
            return False
        self._last.trained(began_ms, watermarks)
        return True

    def last(self) -> LastRetrain:
        """Return the start of the counts."""
        return self._last.read()

    def not_before_ms(self, last: LastRetrain) -> int:
        """Return the end of the pause; zero if there is none."""
        return last.not_before_ms(self._pause_ms, is_first=self._is_first(last))

    def after_events(self, schedule: Schedule, last: LastRetrain) -> int | None:
        """Return the number of new events that starts a training; None if events start none."""
        return enough(last.events) if schedule.by_growth else schedule.after_events

    def new_events(self, last: LastRetrain) -> int:
        """Return the number of events learned since the last training began, of every kind."""
        return self.learned() - last.events

    def is_urgent(self, schedule: Schedule, last: LastRetrain) -> bool:
        """Return whether a training begins as soon as the present rush of events is over.

        It does if nothing serves, or if what serves knows only a part of what there is now. No
        pause holds then, except after an order that came to nothing.
        """
        if not schedule.by_growth or not self._has_users():
            return False
        known = max(last.events, last.tried_events)
        new = self.new_events(last)
        if new < enough(last.events) or last.events + new < OUTGROWN * known:
            return False
        return last.at_ms > 0 or self._is_first(last)

    def due(self) -> str | None:
        """Return the condition that holds, None if none does or the pause still lasts."""
        now, schedule, last = now_ms(), self.current(), self.last()
        if self.is_urgent(schedule, last):
            return "events" if self._is_quiet(now) else None
        self._rush.forget()
        if now < self.not_before_ms(last):
            return None
        if schedule.cron is not None and _cron_is_due(schedule.cron, schedule, last, now):
            return "cron"
        after_events = self.after_events(schedule, last)
        if after_events is None and schedule.drift is None:
            return None
        new, somebody = self.new_events(last), not schedule.by_growth or self._has_users()
        if after_events is not None and new >= after_events and somebody:
            return "events"
        if schedule.drift is not None and new and self.drift() >= schedule.drift:
            return "drift"
        return None

    def drift(self) -> float:
        """Return the ratio of the recent online error to the usual one; 1.0 means no drift."""
        return drift(self._client, self._partitions, self.last().watermarks)

    def learned(self) -> int:
        """Return the number of events learned so far, of every kind."""
        return sum(read_state(self._client, keys).watermark for keys in self._partitions)

    def _is_quiet(self, now: int) -> bool:
        with store_errors():
            ends = [self._client.get(keys.sequence) for keys in self._partitions]
        end = sum(int(cast("bytes | None", one) or 0) for one in ends)
        return self._rush.is_over(end=end, learned=self.learned(), now_ms=now)

    def _has_users(self) -> bool:
        with store_errors():
            users = sum(int(self._client.zcard(keys.users)) for keys in self._partitions)
        return users >= FEWEST_USERS

    def anything_serves(self) -> bool:
        """Return whether a trained model serves."""
        with store_errors():
            return bool(self._client.exists(self._keys.active_models))

    def _is_first(self, last: LastRetrain) -> bool:
        """Return whether nothing was trained, neither by the schedule nor by anybody."""
        return not last.at_ms and not self.anything_serves()


def check(schedule: Schedule) -> None:
    """Raise InvalidSchedule if a condition is not valid."""
    if schedule.cron is not None:
        problem = cron_problem(schedule.cron)
        if problem is not None:
            raise InvalidSchedule(problem)
    if schedule.after_events is not None and schedule.after_events < 1:
        raise InvalidSchedule("after_events must be at least 1, or null")
    if schedule.drift is not None and not (math.isfinite(schedule.drift) and schedule.drift > 1.0):
        raise InvalidSchedule(
            "drift must be above 1, such as 1.1 for an error 10 % higher, or null"
        )


def _cron_is_due(cron: str, schedule: Schedule, last: LastRetrain, now: int) -> bool:
    """Return whether a moment of the expression has passed since the last training and change.

    Before the first training the moments count from the first trainer's start.
    """
    return moment_before(cron, now) > max(last.at_ms or last.first_ms, schedule.changed_ms)


def _unpacked(stored: bytes) -> Schedule:
    return msgspec.json.decode(stored, type=Schedule)
