"""When to retrain by itself: the stored schedule, what it counts from, and whether it is time.

One compare-and-set writes it. The trainer asks ``due`` now and then; nothing here starts a job.
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
from service.settings import Settings
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.state import read_state
from service.store.profiles.expert_history import StreamEntry, unpack_point

DRIFT_POINTS, FEWEST_POINTS = 100, 10
"""Points of the experts' history that say what is usual; with fewer nothing is drift."""
FIRST, FIRST_OF_FEW, ENOUGH_USERS = 5_000, 10_000, 200
"""Events of the log before the first training by growth: where enough users have a history to judge by, and where fewer do.

A model of fewer events ranks no better than popularity, and nobody can tell where few users judge.
"""
GROWTH, LEAST, MOST = 0.2, 2_000, 100_000
"""New events before each later one: a share of those at the last training, within bounds."""
LEAST_DOUBLED_MS, MOST_DOUBLINGS = 60_000, 7
"""Of the pause, when one attempt after the other comes to nothing: from ten minutes to about a day; of none, a minute's."""


@dataclass(frozen=True)
class Schedule:
    """Any of the conditions starts a training; with none of them nothing does."""

    cron: str | None = None
    """Five fields, in UTC: ``0 4 * * *`` is every day at four."""
    after_events: int | None = None
    """So many new events of the log since the last training, impressions included."""
    by_growth: bool = False
    """After as many new events as the log has to grow by (``Schedules.after_events``)."""
    drift: float | None = None
    """The recent online error is this many times the one in the long run."""
    model: str = "fbgd"
    parameters: dict[str, Any] = field(default_factory=dict)
    budget_s: float | None = None
    """Of the search; None: the usual one."""
    promote_unjudged: bool = False
    """Whether a model may serve where too few users can judge it."""
    of_settings: bool = False
    """Whether the settings decide: nobody has set one, or what was set is forgotten."""
    version: int = 0
    """Raised by each change; 0: there was none."""
    who: str = ""
    changed_ms: int = 0


@dataclass(frozen=True)
class LastRetrain:
    """What the conditions count from: the last training of the schedule's model that ended well."""

    at_ms: int = 0
    """When it began."""
    watermarks: Sequence[int] = ()
    """What each partition had learned then."""
    trainer_ms: int = 0
    """When the trainer came that takes the jobs."""
    first_ms: int = 0
    """When the first trainer came."""
    tried_ms: int = 0
    """When the schedule last ordered a training."""
    tries: int = 0
    """How many of its orders have come to nothing since."""

    @property
    def events(self) -> int:
        """Return how many events the learners had learned then."""
        return sum(self.watermarks)


def default_schedule(settings: Settings) -> Schedule:
    """Return the schedule that holds while nobody has set one."""
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
        # by the settings as they are now
        changed = {name: getattr(found, name) for name in ("version", "who", "changed_ms")}
        return replace(self._default, **changed)

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
                    new = replace(schedule, version=version + 1, who=who, changed_ms=now_ms())
                    pipe.multi()
                    pipe.set(self._keys.schedule, msgspec.json.encode(asdict(new)))
                    # what came to nothing may come to something now
                    pipe.hset(self._keys.last_retrain, "tries", 0)
                    pipe.execute()
                    return new
                except redis_errors.WatchError:
                    continue

    def reset(self, who: str) -> Schedule:
        """Let the settings decide again."""
        return self.replace(self._default, who)

    def trainer_came(self) -> None:
        """Note that a trainer begins its service: it starts nothing by itself at once."""
        now = now_ms()
        with store_errors():
            self._client.hset(self._keys.last_retrain, "trainer_ms", now)
            self._client.hsetnx(self._keys.last_retrain, "first_ms", now)

    def ordered(self) -> None:
        """Note that the schedule orders a training: the next one waits, the longer the more come to nothing."""
        with store_errors(), self._client.pipeline(transaction=True) as pipe:
            pipe.hset(self._keys.last_retrain, "tried_ms", now_ms())
            pipe.hincrby(self._keys.last_retrain, "tries", 1)
            pipe.execute()

    def trained(self, model: str, began_ms: int, watermarks: Sequence[int]) -> bool:
        """Note that a training has ended well; of the schedule's model (True), the conditions count from its beginning."""
        if model != self.current().model:
            return False
        now: dict[Any, Any] = {"at_ms": began_ms, "tries": 0}
        for partition, watermark in enumerate(watermarks):
            now[f"watermark.{partition}"] = watermark
        with store_errors():
            self._client.hset(self._keys.last_retrain, mapping=now)
        return True

    def last(self) -> LastRetrain:
        """Return what the conditions count from; zero where there was nothing."""
        with store_errors():
            stored = cast("Mapping[bytes, bytes]", self._client.hgetall(self._keys.last_retrain))
        found = {name.decode(): int(value) for name, value in stored.items()}
        moments = ("at_ms", "trainer_ms", "first_ms", "tried_ms", "tries")
        return LastRetrain(
            watermarks=[found.get(f"watermark.{p}", 0) for p in range(len(self._partitions))],
            **{name: found.get(name, 0) for name in moments},
        )

    def not_before_ms(self, last: LastRetrain) -> int:
        """Return the end of the pause; zero where nothing was trained and no trainer ever came."""
        usual = self._pause_ms
        after_try = usual
        if last.tries > 1:
            after_try = max(usual, LEAST_DOUBLED_MS) * 2 ** min(last.tries - 1, MOST_DOUBLINGS)
        pauses = [(max(last.at_ms, last.trainer_ms), usual), (last.tried_ms, after_try)]
        return max(since + pause if since else 0 for since, pause in pauses)

    def after_events(self, schedule: Schedule, last: LastRetrain) -> int | None:
        """Return how many new events start a training; None: they start none."""
        if not schedule.by_growth:
            return schedule.after_events
        if last.events:
            return min(max(int(GROWTH * last.events), LEAST), MOST)
        return FIRST if self._users() >= ENOUGH_USERS else FIRST_OF_FEW

    def new_events(self, last: LastRetrain) -> int:
        """Return how many events of the log were learned since the last training began: whatever takes a place in it."""
        learned = sum(read_state(self._client, keys).watermark for keys in self._partitions)
        return learned - last.events

    def due(self) -> str | None:
        """Return which condition holds, None if none does or the pause still lasts."""
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
        """Return the recent online error over the usual one, of the worst partition; 1.0: none.

        Usual is what it mostly is, or was since the last training began: one drift starts one training.
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
    """Raise InvalidSchedule if a condition can never be read."""
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
    """Whether a moment of the expression has passed since the last training and the last change.

    Before the first training it waits for its next moment, like one that was just set.
    """
    return moment_before(cron, now) > max(last.at_ms or last.first_ms, schedule.changed_ms)


def _drift(points: Sequence[tuple[int, float]], since: int) -> float:
    """Return the newest error over the usual one: the median of all points, or of those ``since`` if it is higher.

    points: (sequence, error), the newest first; the last one up to ``since`` counts as the first after it. So an error
    that stays high is drift until a training has begun, and then no more.

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
