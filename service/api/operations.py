"""Routes for operators: liveness, readiness and statistics."""

import asyncio
from collections.abc import Sequence
from importlib.metadata import version
from typing import NamedTuple

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from core.meaning import NEGATIVE_TO, POSITIVE_FROM, RATING_WEIGHT
from core.scale import Scale
from service.api.operation_schemas import (
    Health,
    KindMeaning,
    NewItemStats,
    PartitionStats,
    Positions,
    RatingMeaning,
    Ready,
    RollbackStats,
    Stats,
)
from service.api.routing import Route, Runtime
from service.api.times import in_one_format, rfc3339
from service.errors import StoreUnavailable
from service.http.documentation import problems
from service.http.problems import problem
from service.ids import sequence_token
from service.runtime.api import ApiRuntime
from service.store.namespace import scale_text
from service.store.progress import partition_progress, workers
from service.store.recovery.healing import Rollback

router = APIRouter(route_class=Route, tags=["operations"])

VERSION = version("hedgerow")


@router.get("/healthz", summary="Is the process alive?")
async def check_health() -> Health:
    """Yes, if it answers at all."""
    return Health(status="ok", version=VERSION)


@router.get(
    "/readyz",
    summary="Can it serve?",
    response_model=Ready,
    responses=problems("not_ready"),
)
async def check_readiness(request: Request, runtime: Runtime) -> Ready | Response:
    """Ready once the namespace is open and its rows fit the settings, catalogue and registry are
    read, and the kernels are compiled. The process stays ready while the store does not answer,
    because it then answers from memory. A 503 names what is `missing`. `accepting`, `learning` and
    `training` say what else works, and `warning` says what does not. `durable` false: the store may
    lose acknowledged events in a crash.
    """
    missing = [] if runtime.online_predictions.warm and runtime.recommender.warm else ["kernels"]
    if runtime.watch.lost is not None:
        missing.append(f"the store that is known ({runtime.watch.lost.detail})")
    if not runtime.view.ready:
        missing.append("catalogue")
    if not runtime.active.ready:
        missing.append("registry")
    store = await _store(runtime)
    if not store.fits:
        missing.append(
            "rows of these experts (start with the learner's settings, or run `hedgerow rebuild`)"
        )
    if missing:
        missing += ["store"] if runtime.pulse.away_s is not None else []
        detail = f"not ready yet, missing: {', '.join(missing)}"
        request_id = request.scope["request_id"]
        return problem(request_id, 503, "not_ready", detail, retry_after=1, missing=missing)
    warnings = runtime.server.warning, store.refusal or _unlearned(store.idle)
    return Ready(
        status="ready",
        namespace=runtime.namespace.name,
        serving=True,
        accepting=store.refusal is None,
        learning=store.refusal is None and not store.idle,
        training=store.refusal is None and store.trains,
        stale_s=runtime.pulse.away_s,
        durable=runtime.server.durable,
        warning="; ".join(one for one in warnings if one) or None,
    )


class _Store(NamedTuple):
    """What works of that which needs the store."""

    refusal: str | None
    """Why it does not answer or write."""
    fits: bool = True
    """Whether the rows are those of the experts that the settings name."""
    idle: Sequence[int] = ()
    """Partitions without a learner."""
    trains: bool = False
    """Whether there is a trainer."""


async def _store(runtime: ApiRuntime) -> _Store:
    namespace = runtime.namespace
    try:
        idle, trains = await workers(runtime.redis, namespace.name, namespace.partitions)
        fits, refusal = await runtime.profiles.fits(), await runtime.probe.refusal()
    except StoreUnavailable as error:
        return _Store(error.detail)
    return _Store(refusal, fits, idle, trains)


@router.get("/v1/stats", summary="How is it doing?")
async def get_stats(runtime: Runtime) -> Stats:
    """Counters, lag, memory by family of keys, and what each kind of event means."""
    namespace = runtime.namespace
    partitions = [await _partition(runtime, p) for p in range(namespace.partitions)]
    models = await asyncio.to_thread(runtime.registry.records)
    rollbacks = await asyncio.to_thread(runtime.watch.rollbacks)
    return Stats(
        namespace=namespace.name,
        created=in_one_format(namespace.created),
        scale=scale_text(namespace.scale),
        durable=runtime.server.durable,
        warning=runtime.server.warning,
        store=f"{runtime.server.product} {runtime.server.version}",
        model_version=runtime.online_predictions.version,
        items=await runtime.numbers.count(),
        new_items=_new_items(runtime),
        partitions=partitions,
        rollbacks=[_rollback(one) for one in rollbacks],
        memory=_summed([partition.memory for partition in partitions])
        | {"models": sum(model.bytes for model in models)},
        rating=_rating(namespace.scale),
        kinds=[
            KindMeaning(name=name, **kind.model_dump())
            for name, kind in runtime.settings.kinds.items()
        ],
        seen_through=sequence_token({p.partition: p.learned_through for p in partitions}),
    )


def _rollback(found: Rollback) -> RollbackStats:
    return RollbackStats(
        at=rfc3339(found.at_ms),
        era=found.era,
        known=Positions(sequences=list(found.known.sequences), items=found.known.items),
        found=Positions(sequences=list(found.found.sequences), items=found.found.items),
    )


def _new_items(runtime: ApiRuntime) -> NewItemStats:
    fresh = runtime.new_items.current
    return NewItemStats(
        items=fresh.new.items.size,
        shown=fresh.shown,
        clicked=fresh.clicked,
        share=runtime.settings.exploration_share,
    )


async def _partition(runtime: ApiRuntime, partition: int) -> PartitionStats:
    progress = await partition_progress(runtime.redis, runtime.namespace.name, partition)
    state = await runtime.profiles.state(partition)
    return PartitionStats(
        partition=partition,
        appended=progress.appended,
        learned_through=state.watermark,
        lag_events=max(progress.appended - state.watermark, 0),
        lag_ms=state.lag_ms(progress.appended),
        log_bytes=progress.waiting_bytes,
        learner=progress.leader,
        epoch=state.epoch,
        generation=state.generation,
        ratings=state.learned,
        duplicates=state.duplicates,
        other_events=state.others,
        deletions=state.deletions,
        trimmed_records=state.trimmed_records,
        dead_letters=progress.dead_letters,
        memory=await runtime.profiles.memory_by_family(partition),
    )


def _unlearned(partitions: Sequence[int]) -> str | None:
    """Return a warning about partitions without a learner, None if there are none.

    >>> _unlearned([0, 2]).partition(":")[0]
    'no learner runs for partition 0, 2'
    """
    if not partitions:
        return None
    named = ", ".join(map(str, partitions))
    return (
        f"no learner runs for partition {named}: "
        "new feedback waits until `hedgerow serve` or `hedgerow learner` runs"
    )


def _rating(scale: Scale) -> RatingMeaning:
    span = scale.high - scale.low
    return RatingMeaning(
        positive_from=scale.low + POSITIVE_FROM * span,
        negative_to=scale.low + NEGATIVE_TO * span,
        weight=RATING_WEIGHT,
        hides=True,
    )


def _summed(memories: list[dict[str, int]]) -> dict[str, int]:
    return {family: sum(memory[family] for memory in memories) for family in memories[0]}
