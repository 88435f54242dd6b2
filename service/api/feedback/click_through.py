"""Click-through of the slates by strategy and model, and events by where they happened."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query

from core.meaning import RATING
from service.api.figures import Figure
from service.api.routing import Route, Runtime
from service.api.schemas import Answer
from service.http.faults import PAIR
from service.ids import sequence_token
from service.rec_ids import named
from service.settings import Settings
from service.store.profiles.click_through import read_click_through, read_contexts

router = APIRouter(route_class=Route, tags=["operations"])


class SlateResponses(Answer):
    """Click-through of the slates of one model."""

    strategy: str
    """The strategy that made the slates."""
    model_version: str | None
    """The first 12 digits of the version; null for slates without a model."""
    impressions: int
    """Events of the kind `impression`."""
    clicks: int
    """Events of the kind `click`."""
    click_through: Figure | None
    """Clicks for each impression; null before the first impression."""
    events: dict[str, int]
    """Number of events that named a slate, by kind of feedback, including `rating`."""


class ClickThrough(Answer):
    """The slates of each model; the model with the most impressions comes first."""

    slates: list[SlateResponses]
    """The slates of each model."""
    seen_through: str
    """The last events that are included."""


InContext = Annotated[
    str,
    Query(
        pattern=PAIR,
        description="Only events of this context: `device=phone`. Kept for each of the last 1 024 "
        "pairs of a model and a context that had events.",
        examples=["device=phone"],
    ),
]


@router.get("/v1/stats/click-through", summary="Count impressions and clicks")
async def get_click_through(runtime: Runtime, context: InContext = "") -> ClickThrough:
    """Impressions and clicks by strategy and model, from feedback with the `rec_id` of a slate.

    With `context`, those that happened there.
    """
    namespace = runtime.namespace
    watermarks = {p: runtime.changes.watermark(p) for p in range(namespace.partitions)}
    responses = await read_click_through(
        runtime.redis, namespace.name, namespace.partitions, context
    )
    slates = [_slates(runtime.settings, *one) for one in responses.items()]
    return ClickThrough(
        slates=sorted(slates, key=lambda one: (-one.impressions, one.strategy)),
        seen_through=sequence_token(watermarks),
    )


class ContextEvents(Answer):
    """The events of one context."""

    context: str
    """Where they happened: `device=phone`."""
    events: dict[str, int]
    """Number of events by kind of feedback, including `rating`, with and without a `rec_id`."""


class ContextCounts(Answer):
    """Where events happened, the contexts with most events first."""

    contexts: list[ContextEvents]
    """Each name and text that an event had."""
    seen_through: str
    """The last events that are included."""


AnyContext = Annotated[
    str,
    Query(
        pattern=PAIR,
        description="Only this context: `device=phone`; by default all.",
        examples=["device=phone"],
    ),
]


@router.get("/v1/stats/contexts", summary="Count events by where they happened")
async def get_contexts(runtime: Runtime, context: AnyContext = "") -> ContextCounts:
    """The number of events of each kind by each name and text of their `context`.

    Kept for each of the last 1 024 contexts that had events.
    """
    namespace = runtime.namespace
    watermarks = {p: runtime.changes.watermark(p) for p in range(namespace.partitions)}
    counted = await read_contexts(runtime.redis, namespace.name, namespace.partitions)
    chosen = counted if not context else {context: counted.get(context, Counter())}
    most_first = sorted(chosen.items(), key=lambda one: (-one[1].total(), one[0]))
    return ContextCounts(
        contexts=[
            ContextEvents(context=name, events=_by_name(runtime.settings, events))
            for name, events in most_first
            if events
        ],
        seen_through=sequence_token(watermarks),
    )


def _by_name(settings: Settings, events: Mapping[int, int]) -> dict[str, int]:
    names: dict[Any, str] = {kind.code: name for name, kind in settings.kinds.items()}
    names[RATING] = "rating"
    return {names.get(code, f"kind {code}"): n for code, n in sorted(events.items())}


def _slates(settings: Settings, source: bytes, events: Mapping[int, int]) -> SlateResponses:
    strategy, model = named(source)
    by_name = _by_name(settings, events)
    shown, clicks = by_name.get("impression", 0), by_name.get("click", 0)
    return SlateResponses(
        strategy=strategy,
        model_version=model or None,
        impressions=shown,
        clicks=clicks,
        click_through=clicks / shown if shown else None,
        events=by_name,
    )
