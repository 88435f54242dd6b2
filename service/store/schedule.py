"""When to retrain by itself: the stored schedule, what it counts from, and whether it is time.

One compare-and-set writes it. The trainer asks ``due`` now and then; nothing here starts a job.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from statistics import median
from typing import Any, cast

import msgspec
import redis
from croniter import CroniterBadDateError, croniter
from redis import exceptions as redis_errors

from service.errors import InvalidSchedule, VersionConflict
from service.settings import Settings
from service.store.connection import store_errors
from service.store.job_records import now_ms
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.state import PartitionState, read_state

DRIFT_POINTS, FEWEST_POINTS = 100, 10
"""Points of the experts' history that say what is usual; with fewer nothing is drift."""
_DRAWN = re.compile(r"\br\b", re.IGNORECASE)


@dataclass(frozen=True)
class Schedule:
    """Any of the conditions starts a training; with none of them nothing does."""

    cron: str | None = None
    """Five fields, in UTC: ``0 4 * * *`` is every day at four."""
    after_events: int | None = None
    """So many new events since the last training."""
    drift: float | None = None
    """The recent online error is this many times the one in the long run."""
    model: str = "fbgd"
    parameters: dict[str, Any] = field(default_factory=dict)
    budget_s: float | None = None
    """Of the search; None: the usual one."""
    promote_unjudged: bool = False
    """Whether a model may serve where too few users can judge it."""
    version: int = 0
    """Raised by each change; 0: nobody has set it, these are the settings' defaults."""
    who: str = ""
    changed_ms: int = 0


@dataclass(frozen=True)
class LastRetrain:
    """What the conditions count from."""

    events: int = 0
    """Events that the learners had learned then."""
    at_ms: int = 0


def default_schedule(settings: Settings) -> Schedule:
    """Return the schedule that holds while nobody has set one."""
    return Schedule(
        cron=settings.retrain_cron,
        after_events=settings.retrain_after_events,
        drift=settings.retrain_on_drift,
    )


class Schedules:
    """The schedule of a namespace."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self._client, self._default = client, default_schedule(settings)
        check(self._default)
        self._keys = NamespaceKeys(settings.namespace)
        self._partitions = [
            PartitionKeys(settings.namespace, p) for p in range(settings.partitions)
        ]

    def current(self) -> Schedule:
        """Return the schedule as it is now."""
        with store_errors():
            stored = cast("bytes | None", self._client.get(self._keys.schedule))
        return self._default if stored is None else _unpacked(stored)

    def replace(self, schedule: Schedule, who: str, expected: int | None = None) -> Schedule:
        """Put a schedule in the place of version ``expected`` (None: of any)."""
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
                    said = asdict(schedule)
                    new = Schedule(
                        **said | {"version": version + 1, "who": who, "changed_ms": now_ms()}
                    )
                    pipe.multi()
                    pipe.set(self._keys.schedule, msgspec.json.encode(asdict(new)))
                    pipe.execute()
                    return new
                except redis_errors.WatchError:
                    continue

    def began(self) -> None:
        """Note that a training begins: the conditions count from here."""
        states = [read_state(self._client, keys) for keys in self._partitions]
        with store_errors():
            fields: dict[Any, Any] = {"events": _events(states), "at_ms": now_ms()}
            self._client.hset(self._keys.last_retrain, mapping=fields)

    def last(self) -> LastRetrain:
        """Return when the last training began; zero if there was none."""
        with store_errors():
            stored = cast("Mapping[bytes, bytes]", self._client.hgetall(self._keys.last_retrain))
        return LastRetrain(int(stored.get(b"events", 0)), int(stored.get(b"at_ms", 0)))

    def due(self, not_before_ms: int) -> str | None:
        """Return which condition holds, None if none does; ``not_before_ms``: never earlier than that."""
        now, schedule, last = now_ms(), self.current(), self.last()
        if now < not_before_ms:
            return None
        if schedule.cron is not None and _cron_is_due(schedule.cron, schedule, last, now):
            return "cron"
        if schedule.after_events is None and schedule.drift is None:
            return None
        states = [read_state(self._client, keys) for keys in self._partitions]
        new = _events(states) - last.events
        if schedule.after_events is not None and new >= schedule.after_events:
            return "events"
        if schedule.drift is not None and new and self.drift() >= schedule.drift:
            return "drift"
        return None

    def drift(self) -> float:
        """Return the recent online error over the one in the long run, of the worst partition; 1.0: none."""
        return max((_drift(self._points(keys)) for keys in self._partitions), default=1.0)

    def _points(self, keys: PartitionKeys) -> list[dict[str, Any]]:
        """Return the experts' recent points, the newest first."""
        with store_errors():
            newest = self._client.xrevrange(keys.expert_history, count=DRIFT_POINTS)
        return [msgspec.json.decode(fields[b"d"]) for _, fields in cast("list[Any]", newest)]


def check(schedule: Schedule) -> None:
    """Raise InvalidSchedule if a condition can never be read."""
    if schedule.cron is not None:
        _check_cron(schedule.cron)
    if schedule.after_events is not None and schedule.after_events < 1:
        raise InvalidSchedule("after_events must be at least 1, or null")
    if schedule.drift is not None and not (math.isfinite(schedule.drift) and schedule.drift > 1.0):
        raise InvalidSchedule(
            "drift must be above 1, such as 1.1 for an error 10 % higher, or null"
        )


def _check_cron(cron: str) -> None:
    # R is a moment drawn anew at each look: it would be due again and again
    if len(cron.split()) != 5 or _DRAWN.search(cron) or not croniter.is_valid(cron):
        raise InvalidSchedule(
            f"{cron!r} is no cron expression: give five fields, minute hour day month weekday, "
            "as in '0 4 * * *'"
        )
    try:
        _moment_before(cron, now_ms())
    except CroniterBadDateError:
        raise InvalidSchedule(
            f"no day is ever one of {cron!r}: give a day that its months have"
        ) from None


def _cron_is_due(cron: str, schedule: Schedule, last: LastRetrain, now: int) -> bool:
    """Whether a moment of the expression has passed since the last training and the last change."""
    return _moment_before(cron, now) > max(last.at_ms, schedule.changed_ms)


def _moment_before(cron: str, now: int) -> int:
    """Return the last moment of an expression, in ms; CroniterBadDateError if there is none."""
    moment = croniter(cron, datetime.fromtimestamp(now / 1000, UTC)).get_prev(datetime)
    return int(moment.timestamp() * 1000)


def _drift(points: Sequence[Mapping[str, Any]]) -> float:
    """Return the best expert's loss at the newest point over its median at all points.

    >>> points = [{"experts": [{"recent_loss": loss}, {"recent_loss": 9.0}]} for loss in (0.3, 0.2, 0.2)]
    >>> _drift(points * FEWEST_POINTS)
    1.5
    """
    best = [min(e["recent_loss"] for e in point["experts"]) for point in points]
    if len(best) < FEWEST_POINTS or (usual := median(best)) <= 0.0:
        return 1.0
    return float(round(best[0] / usual, 6))


def _events(states: list[PartitionState]) -> int:
    return sum(state.watermark for state in states)


def _unpacked(stored: bytes) -> Schedule:
    return msgspec.json.decode(stored, type=Schedule)
