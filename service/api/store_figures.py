"""The figures of `/metrics` that the store knows: every api process would say the same."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from service.errors import ServiceError
from service.metrics import catalogue as metrics
from service.metrics.catalogue import Metric
from service.runtime.api import ApiRuntime
from service.store.clock import now_ms
from service.store.jobs.job import UNFINISHED
from service.store.models.joined_mixture import joined
from service.store.progress import partition_progress, workers

KEPT_S = 5.0
"""Seconds for which figures are given again: they cost the store some fifty reads."""
JOBS_READ = 100
"""The newest jobs; those that have not ended are among them."""
LEARNED = {"rating": "learned", "repeat": "duplicates", "other": "others", "deletion": "deletions"}
"""What the learner's counters are called."""

Figures = dict[Metric, dict[tuple[str, ...], float]]


class StoreFigures:
    """Reads the figures, each group by itself: what cannot be read now is left out."""

    def __init__(
        self,
        runtime: ApiRuntime,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runtime, self._clock = runtime, clock
        self._read_at = -KEPT_S
        self._figures: Figures = {}
        self._reading = asyncio.Lock()

    async def current(self) -> Mapping[Metric, Mapping[tuple[str, ...], float]]:
        """Return the figures as of some seconds ago, and whether the store answers as of now."""
        async with self._reading:
            if self._clock() - self._read_at >= KEPT_S:
                self._figures = await self._read()
                self._read_at = self._clock()
        away_s = self._runtime.pulse.away_s
        if away_s is not None:
            # the last figures would look as if all were well
            return {metrics.STORE_UP: {(): 0}, metrics.STALE_SECONDS: {(): away_s}}
        return {**self._figures, metrics.STORE_UP: {(): 1}, metrics.STALE_SECONDS: {(): 0}}

    async def _read(self) -> Figures:
        groups: Sequence[Callable[[], Awaitable[Figures]]] = (
            *(self._partition(p) for p in range(self._runtime.namespace.partitions)),
            self._workers,
            self._models,
            self._rankers,
            self._server,
        )
        found: Figures = {}
        for group in groups:
            try:
                figures = await group()
            except ServiceError:
                continue
            for metric, series in figures.items():
                known = found.setdefault(metric, {})
                for values, number in series.items():
                    add = metric is metrics.STORE_BYTES
                    known[values] = number + (known.get(values, 0) if add else 0)
        return found

    def _partition(self, partition: int) -> Callable[[], Awaitable[Figures]]:
        async def read() -> Figures:
            runtime, label = self._runtime, str(partition)
            progress = await partition_progress(runtime.redis, runtime.namespace.name, partition)
            state = await runtime.profiles.state(partition)
            memory = await runtime.profiles.memory_by_family(partition)
            own: dict[Metric, float] = {
                metrics.LAG_EVENTS: max(progress.appended - state.watermark, 0),
                metrics.LAG_SECONDS: state.lag_ms(progress.appended) / 1_000,
                metrics.LOG_BYTES: progress.waiting_bytes,
                metrics.DEAD_LETTERS: progress.dead_letters,
                metrics.LEARNER_UP: progress.leader is not None,
            }
            return {
                **{metric: {(label,): float(number)} for metric, number in own.items()},
                metrics.EVENTS_LEARNED: {
                    (label, what): getattr(state, name) for what, name in LEARNED.items()
                },
                metrics.EXPERT_ERROR: await self._errors(partition),
                metrics.STORE_BYTES: {(data,): n for data, n in memory.items()},
            }

        return read

    async def _errors(self, partition: int) -> dict[tuple[str, ...], float]:
        try:
            report = await self._runtime.online_predictions.experts(partition)
        except ServiceError:
            # nothing is learned yet
            return {}
        return {(str(partition), one.name): one.recent_loss for one in report.experts}

    async def _workers(self) -> Figures:
        runtime = self._runtime
        _, trains = await workers(
            runtime.redis, runtime.namespace.name, runtime.namespace.partitions
        )
        records = await asyncio.to_thread(runtime.jobs.records.records, JOBS_READ)
        return {
            metrics.TRAINER_UP: {(): trains},
            metrics.JOBS: {
                (status,): sum(one.status == status for one in records) for status in UNFINISHED
            },
        }

    async def _models(self) -> Figures:
        registry = self._runtime.registry
        active, records = await asyncio.to_thread(lambda: (registry.active(), registry.records()))
        now = now_ms()
        return {
            metrics.MODEL_AGE: {
                (one.strategy,): (now - one.created_ms) / 1_000
                for one in records
                if active.get(one.strategy) == one.version
            },
            metrics.STORE_BYTES: {("models",): sum(one.bytes for one in records)},
        }

    async def _rankers(self) -> Figures:
        mixture = self._runtime.mixture_weights
        rankers, mixed = joined(mixture.counting(await mixture.reader.records()))
        judged: dict[str, Any] = {**rankers, **({} if mixed is None else {"mixture": mixed})}
        return {
            metrics.MIXTURE_WEIGHT: {(name,): one.weight for name, one in rankers.items()},
            metrics.NDCG: {(name,): one.ndcg10 for name, one in judged.items() if one.judged},
        }

    async def _server(self) -> Figures:
        runtime = self._runtime
        rollbacks = await asyncio.to_thread(runtime.watch.rollbacks)
        waiting = runtime.webhooks.store.deliveries.waiting
        return {
            metrics.ACCEPTING: {(): await runtime.probe.refusal() is None},
            metrics.DURABLE: {(): runtime.server.durable},
            metrics.ROLLBACKS: {(): len(rollbacks)},
            metrics.LAST_ROLLBACK: {(): rollbacks[0].at_ms / 1_000} if rollbacks else {},
            metrics.ITEMS: {(): await runtime.numbers.count()},
            metrics.WEBHOOKS_WAITING: {(): await asyncio.to_thread(waiting)},
        }
