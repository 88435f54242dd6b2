"""Automatic retraining: the stored schedule, the start of its counts, and whether it is due.

The schedule is written by compare-and-set. The trainer polls ``due``; nothing here starts a job.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import median
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
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.state import read_state
from service.store.profiles.expert_history import StreamEntry, unpack_point

DRIFT_POINTS, FEWEST_POINTS = 100, 10
"""Points of the experts' history that define the usual error, and the fewest that show drift."""
FIRST, FIRST_OF_FEW, ENOUGH_USERS = 5_000, 10_000, 200
"""Events before the first training by growth with enough users and with fewer, and enough users.

A model of fewer events ranks no better than popularity, and with few users no validation can tell.
"""
GROWTH, LEAST, MOST = 0.2, 2_000, 100_000
"""New events before each later training: a share of those at the last one, and its bounds."""
LEAST_DOUBLED_MS, MOST_DOUBLINGS = 60_000, 7
"""Least pause that is doubled after repeated failures, and the most doublings.

Ten minutes grow to about a day. A pause of 0 is doubled as if it were a minute.
"""


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
    """Whether a model may serve if too few users can be held out to compare it."""
    of_settings: bool = False
    """Whether the settings decide, because no schedule was set or it was reset."""
    version: int = 0
    """Number of changes so far."""
    who: str = ""
    changed_ms: int = 0


@dataclass(frozen=True)
class LastRetrain:
    """The start of the counts: the last successful training of the schedule's model."""

    at_ms: int = 0
    """Begin of the training, in UTC ms; 0 before the first."""
    watermarks: Sequence[int] = ()
    """Watermark of each partition at that time."""
    trainer_ms: int = 0
    """Start of the current trainer."""
    first_ms: int = 0
    """Start of the first trainer."""
    tried_ms: int = 0
    """Time of the schedule's last order."""
    tries: int = 0
    """Number of the schedule's orders since the last success."""

    @property
    def events(self) -> int:
        """Return the number of events learned at that time."""
        return sum(self.watermarks)


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
        """Note that a trainer starts: the schedule pauses before its first order."""
        now = now_ms()
        with store_errors():
            self._client.hset(self._keys.last_retrain, "trainer_ms", now)
            self._client.hsetnx(self._keys.last_retrain, "first_ms", now)

    def ordered(self) -> None:
        """Note that the schedule orders a training; the pause grows with the orders that fail."""
        with store_errors(), self._client.pipeline(transaction=True) as pipe:
            pipe.hset(self._keys.last_retrain, "tried_ms", now_ms())
            pipe.hincrby(self._keys.last_retrain, "tries", 1)
            pipe.execute()

    def trained(self, model: str | None, began_ms: int, watermarks: Sequence[int]) -> bool:
        """Note a successful training; return whether its model is the schedule's.

        If it is, the conditions count from the beginning of this training.
        """
        if model != self.current().model:
            return False
        now: dict[Any, Any] = {"at_ms": began_ms, "tries": 0}
        for partition, watermark in enumerate(watermarks):
            now[f"watermark.{partition}"] = watermark
        with store_errors():
            self._client.hset(self._keys.last_retrain, mapping=now)
        return True

    def last(self) -> LastRetrain:
        """Return the start of the counts; fields are zero before their first event."""
        with store_errors():
            stored = cast("Mapping[bytes, bytes]", self._client.hgetall(self._keys.last_retrain))
        found = {name.decode(): int(value) for name, value in stored.items()}
        moments = ("at_ms", "trainer_ms", "first_ms", "tried_ms", "tries")
        return LastRetrain(
            watermarks=[found.get(f"watermark.{p}", 0) for p in range(len(self._partitions))],
            **{name: found.get(name, 0) for name in moments},
        )

    def not_before_ms(self, last: LastRetrain) -> int:
        """Return the end of the pause; zero if no trainer ever started and nothing was trained."""
        usual = self._pause_ms
        after_try = usual
        if last.tries > 1:
            after_try = max(usual, LEAST_DOUBLED_MS) * 2 ** min(last.tries - 1, MOST_DOUBLINGS)
        pauses = [(max(last.at_ms, last.trainer_ms), usual), (last.tried_ms, after_try)]
        return max(since + pause if since else 0 for since, pause in pauses)

    def after_events(self, schedule: Schedule, last: LastRetrain) -> int | None:
        """Return the number of new events that starts a training; None if events start none."""
        if not schedule.by_growth:
            return schedule.after_events
        if last.events:
            return min(max(int(GROWTH * last.events), LEAST), MOST)
        return FIRST if self._users() >= ENOUGH_USERS else FIRST_OF_FEW

    def new_events(self, last: LastRetrain) -> int:
        """Return the number of events learned since the last training began, of every kind."""
        learned = sum(read_state(self._client, keys).watermark for keys in self._partitions)
        return learned - last.events

    def due(self) -> str | None:
        """Return the condition that holds, None if none does or the pause still lasts."""
        now, schedule, last = now_ms(), self.current(), self.last()
        if now < self.not_before_ms(last):
            return None
        if schedule.cron is not None and _cron_is_due(schedule.cron, schedule, last, now):
            return "cron"
        after_events = self.after_events(schedule, last)
        if after_events is None and schedule.drift is None:
            return None
        new = self.new_events(last)
        if after_events is not None and new >= after_events:
            return "events"
        if schedule.drift is not None and new and self.drift() >= schedule.drift:
            return "drift"
        return None

    def drift(self) -> float:
        """Return the ratio of the recent online error to the usual one, in the worst partition.

        1.0 means no drift. The usual error is the median of all points, or of those since the last
        training began if that is higher: one drift starts only one training.
        """
        since = self.last().watermarks
        found = zip(self._partitions, since, strict=True)
        return max((_drift(self._points(keys), one) for keys, one in found), default=1.0)

    def _users(self) -> int:
        with store_errors():
            return sum(int(self._client.zcard(keys.users)) for keys in self._partitions)

    def _points(self, keys: PartitionKeys) -> list[tuple[int, float]]:
        """Return the experts' recent points, the newest first."""
        with store_errors():
            newest = self._client.xrevrange(keys.expert_history, count=DRIFT_POINTS)
        return [_point(entry) for entry in cast("list[Any]", newest)]


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


def _drift(points: Sequence[tuple[int, float]], since: int) -> float:
    """Return the ratio of the newest error to the usual one.

    The usual error is the median of all points, or that of the points after ``since`` if it is
    higher. ``points`` are (sequence, error), the newest first; the last one up to ``since`` counts
    as the first after it. So a high error is drift only until a training has begun.

    >>> points = [(at, 0.3 if at > 18 else 0.2) for at in range(20, 0, -1)]
    >>> _drift(points, 0), _drift(points, 19)
    (1.5, 1.0)
    """
    if len(points) < FEWEST_POINTS:
        return 1.0
    known = next((error for sequence, error in points if sequence <= since), None)
    later = [error for sequence, error in points if sequence > since]
    usual = median(error for _, error in points)
    usual = max(usual, median(later if known is None else [*later, known]))
    return float(round(points[0][1] / usual, 6)) if usual > 0.0 else 1.0


def _point(entry: StreamEntry) -> tuple[int, float]:
    """Return the sequence and the best expert's recent loss of a point of the experts' history."""
    sequence, point = unpack_point(entry)
    return sequence, min(expert["recent_loss"] for expert in point["experts"])


def _unpacked(stored: bytes) -> Schedule:
    return msgspec.json.decode(stored, type=Schedule)
