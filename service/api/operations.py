"""Routes for operators: liveness, readiness and statistics."""

import asyncio
from typing import Literal

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from core.meaning import NEGATIVE_TO, POSITIVE_FROM, RATING_WEIGHT
from core.scale import Scale
from service.api.figures import Figure
from service.api.routing import Route, Runtime
from service.api.schemas import Answer
from service.api.times import Time, in_one_format, rfc3339
from service.errors import StoreUnavailable
from service.http.documentation import problems
from service.http.problems import problem
from service.ids import sequence_token
from service.runtime import ApiRuntime
from service.store.clock import now_ms
from service.store.namespace import scale_text
from service.store.progress import partition_progress, unlearned
from service.store.recovery.healing import Rollback

router = APIRouter(route_class=Route, tags=["operations"])


class Health(Answer):
    """The process answers."""

    status: Literal["ok"]
    """The process answers."""


class Ready(Answer):
    """The process can serve."""

    status: Literal["ready"]
    """The process can serve."""
    namespace: str
    """The namespace that the process serves."""
    durable: bool
    """Whether an acknowledged event survives a power cut."""
    learning: bool
    """Whether every partition has a learner; without one, feedback is stored but not learned."""
    warning: str | None
    """Why not, and what to do."""


class KindMeaning(Answer):
    """The meaning of one kind of feedback for the rankers."""

    name: str
    """The value of `kind` in such feedback."""
    code: int
    """The number that the log keeps for the kind."""
    weight: float
    """How much such an event counts; 0: it counts only for click-through and for new items."""
    sign: int
    """1: the user wants the item; -1: does not; 0: neither."""
    hides: bool
    """Whether the item is left out of the user's lists afterwards."""


class RatingMeaning(Answer):
    """The meaning of a rating for the rankers; the experts learn it too."""

    positive_from: Figure
    """The least rating that says that a user wants the item."""
    negative_to: Figure
    """The highest rating that says that a user does not."""
    weight: float
    """How much a rating counts."""
    hides: bool
    """Whether a rated item is left out of the user's lists afterwards."""


class PartitionStats(Answer):
    """One partition's learner and log."""

    partition: int
    """The number of the partition, from 0."""
    appended: int
    """Number of the newest event."""
    learned_through: int
    """Number of the newest event that is learned."""
    lag_events: int
    """Events that wait to be learned."""
    lag_ms: int
    """Milliseconds since the newest learned event was accepted; 0 if none waits."""
    log_bytes: int
    """Bytes of the events that wait to be learned."""
    learner: str | None
    """The process that learns; null if there is none."""
    epoch: int
    """Raised by each learner that takes over."""
    generation: int
    """Raised by each rebuild."""
    ratings: int
    """Ratings that the experts have learned."""
    duplicates: int
    """Events that were dropped as repeats."""
    other_events: int
    """Events of other kinds."""
    deletions: int
    """Deletions that were learned."""
    trimmed_records: int
    """Old events that were removed from histories because these are bounded."""
    dead_letters: int
    """Entries of the log that could not be learned; `hedgerow dead-letters` shows why."""
    memory: dict[str, int]
    """About how many bytes each family of keys takes."""


class NewItemStats(Answer):
    """The items that are new now: described, with few events and few showings."""

    items: int
    """How many there are."""
    shown: int
    """Impressions of them, as posted (kind `impression`)."""
    clicked: int
    """Clicks on them (kind `click`)."""
    share: float
    """Share of the places of a list, after the first three, that they get."""


class Positions(Answer):
    """How far a store is."""

    sequences: list[int]
    """The newest event of each partition."""
    items: int
    """Items with a number."""


class RollbackStats(Answer):
    """A time when the store was found to have lost something that it had acknowledged."""

    at: Time
    """When it was found."""
    era: int
    """The era of the store that began with it, from 1."""
    known: Positions
    """How far it was known to be."""
    found: Positions
    """How far it was then."""


class Stats(Answer):
    """Statistics of the service."""

    namespace: str
    """The namespace that the process serves."""
    created: Time
    """When the namespace was made."""
    scale: str
    """The scale of ratings, `lowest:highest`."""
    durable: bool
    """Whether an acknowledged event survives a power cut."""
    warning: str | None
    """Why not, and what to do."""
    store: str
    """The server that stores everything, and its version."""
    model_version: str
    """The version of the online model."""
    items: int
    """Ids of items that are known, from documents or feedback."""
    new_items: NewItemStats
    """The items that are new now."""
    partitions: list[PartitionStats]
    """Each partition's learner and log."""
    rollbacks: list[RollbackStats]
    """When the store was found to have lost something, the newest 20, the newest first."""
    memory: dict[str, int]
    """About how many bytes each family of keys takes, in all partitions."""
    rating: RatingMeaning
    """The meaning of a rating."""
    kinds: list[KindMeaning]
    """The meaning of each kind of feedback."""
    seen_through: str
    """The last events that are learned."""


@router.get("/healthz", summary="Is the process alive?")
async def check_health() -> Health:
    """Yes, if it answers at all."""
    return Health(status="ok")


@router.get(
    "/readyz",
    summary="Can it serve?",
    response_model=Ready,
    responses=problems("not_ready"),
)
async def check_readiness(request: Request, runtime: Runtime) -> Ready | Response:
    """Ready once the store answers, the namespace is open and its rows fit, catalogue and registry
    are read, and the kernels are compiled.

    503 names what is `missing`. `durable` false: the store may lose acknowledged events in a crash.
    `learning` false: a learner is away; the process still serves, so it stays ready.
    """
    namespace = runtime.namespace
    idle: list[int] = []
    missing = [] if runtime.online_predictions.warm and runtime.recommender.warm else ["kernels"]
    if runtime.watch.lost is not None:
        missing.append(f"the store that is known ({runtime.watch.lost.detail})")
    if not runtime.view.ready:
        missing.append("catalogue")
    if not runtime.active.ready:
        missing.append("registry")
    try:
        idle = await unlearned(runtime.redis, namespace.name, namespace.partitions)
        if not await runtime.profiles.fits():
            missing.append(
                "rows of these experts (start with the learner's settings, "
                "or run `hedgerow rebuild`)"
            )
    except StoreUnavailable:
        missing.append("store")
    if missing:
        detail = f"not ready yet, missing: {', '.join(missing)}"
        request_id = request.scope["request_id"]
        return problem(request_id, 503, "not_ready", detail, retry_after=1, missing=missing)
    warnings = runtime.server.warning, _unlearned(idle)
    return Ready(
        status="ready",
        namespace=namespace.name,
        durable=runtime.server.durable,
        learning=not idle,
        warning="; ".join(one for one in warnings if one) or None,
    )


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
    behind = max(progress.appended - state.watermark, 0)
    return PartitionStats(
        partition=partition,
        appended=progress.appended,
        learned_through=state.watermark,
        lag_events=behind,
        lag_ms=max(now_ms() - state.newest_ms, 0) if behind else 0,
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


def _unlearned(partitions: list[int]) -> str | None:
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
