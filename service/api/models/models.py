"""The registry for operators: list the models, and choose which of them serve."""

import asyncio
import re
from typing import Annotated

from fastapi import APIRouter, Body, Path, Query

from service.api.models.schemas import (
    ChangePage,
    Model,
    Models,
    Reason,
    RollBack,
    Why,
    shown_change,
    shown_model,
    shown_served,
)
from service.api.routing import Caller, Route, Runtime
from service.api.schemas import Cursor, Limit
from service.errors import NotFound
from service.http.cursors import InvalidCursor, make_cursor, read_cursor
from service.http.documentation import problems
from service.ranking.families import FAMILIES, TrainedStrategy
from service.store.models.records import SHOWN, ModelRecord
from service.store.models.registry import Registry

router = APIRouter(route_class=Route, tags=["models"])

CHANGES = "changes of models"

Version = Annotated[
    str, Path(max_length=64, description="The model's version, or how it begins: 12 characters.")
]
StrategyFilter = Annotated[
    TrainedStrategy | None, Query(description="Only the models of this strategy.")
]
_EXAMPLE = next(iter(FAMILIES))
WhyQuery = Annotated[Why, Query(description="Kept with who and when.")]
ReasonInput = Annotated[
    Reason | None, Body(openapi_examples={"why": {"value": {"why": "fewer complaints"}}})
]
RollBackInput = Annotated[
    RollBack | None,
    Body(openapi_examples={_EXAMPLE: {"value": {"strategy": _EXAMPLE, "why": "complaints"}}}),
]


@router.get("/v1/models", summary="List models")
async def list_models(
    runtime: Runtime, strategy: StrategyFilter = None, limit: Limit = 100, cursor: Cursor = None
) -> Models:
    """The newest first, with their metrics, the gate's decisions, and which of them serve.

    `served` is what the answering process has loaded. A promotion reaches every process within a
    second, or up to ten seconds later if the model never served and the lists of many users are
    prepared first. A roll-back never waits.
    """
    registry = runtime.registry
    of = f"models {strategy}"
    after = None if cursor is None else read_cursor(of, cursor)
    records = await asyncio.to_thread(_records, registry, strategy, after)
    active, pinned = await asyncio.to_thread(_pointers, registry)
    return Models(
        items=[shown_model(record, active, pinned) for record in records[:limit]],
        next_cursor=make_cursor(of, _place(records[limit - 1])) if records[limit:] else None,
        active=active,
        pinned=pinned,
        served=shown_served(runtime.active.current),
    )


@router.get("/v1/models/changes", summary="List changes of what serves")
async def list_model_changes(
    runtime: Runtime, limit: Limit = 100, cursor: Cursor = None
) -> ChangePage:
    """The last 1 000 changes with who, when and why, the newest first.

    If the gate let a model serve, `who` is the one who ordered its training.
    """
    before = None if cursor is None else _change_id(read_cursor(CHANGES, cursor))
    found = await asyncio.to_thread(runtime.registry.changes, limit + 1, before)
    shown = found[:limit]
    return ChangePage(
        items=[shown_change(change) for change in shown],
        next_cursor=make_cursor(CHANGES, shown[-1].id) if found[limit:] else None,
    )


@router.post(
    "/v1/models/rollback",
    summary="Go back to the model before",
    responses=problems("conflict", "no_earlier_version", "model_pinned"),
)
async def roll_back_model(runtime: Runtime, caller: Caller, body: RollBackInput = None) -> Model:
    """The version that served before serves again; if you repeat the request, the version before
    that. 409 `no_earlier_version` if none is left, 409 `model_pinned` if the active one is pinned.
    """
    order = body or RollBack()
    return await asyncio.to_thread(_rolled_back, runtime.registry, order, caller)


@router.post(
    "/v1/models/{version}/promote",
    summary="Let a model serve",
    responses=problems("not_found", "conflict", "model_pinned"),
)
async def promote_model(
    runtime: Runtime, caller: Caller, version: Version, body: ReasonInput = None
) -> Model:
    """The model becomes the active one of its strategy, whatever the gate said.

    409 `model_pinned` if another version is pinned. The next training may replace the model: pin it
    to keep it.
    """
    why = (body or Reason()).why
    return await asyncio.to_thread(_promoted, runtime.registry, version, caller, why)


@router.put(
    "/v1/models/{version}/pin",
    summary="Pin a model",
    responses=problems("not_found", "conflict", "model_pinned"),
)
async def pin_model(
    runtime: Runtime, caller: Caller, version: Version, body: ReasonInput = None
) -> Model:
    """The model becomes active, and stays active until it is unpinned; it is never removed.

    409 `model_pinned` if another version is pinned.
    """
    why = (body or Reason()).why
    return await asyncio.to_thread(_pinned, runtime.registry, version, caller, why)


@router.delete(
    "/v1/models/{version}/pin",
    summary="Unpin a model",
    responses=problems("not_found", "conflict"),
)
async def unpin_model(
    runtime: Runtime, caller: Caller, version: Version, why: WhyQuery = ""
) -> Model:
    """The model goes on serving; the next training may replace it. Unpinning twice is harmless."""
    return await asyncio.to_thread(_unpinned, runtime.registry, version, caller, why)


def _records(registry: Registry, strategy: str | None, after: str | None) -> list[ModelRecord]:
    """Return the models, newest first, or only those after the position of a cursor."""
    records = sorted(registry.records(strategy), key=_place, reverse=True)
    return [record for record in records if after is None or _place(record) < after]


def _change_id(text: str) -> str:
    # Redis takes no interval that ends before its least id
    if not re.fullmatch(r"[1-9][0-9]{0,14}-[0-9]{1,15}", text):
        raise InvalidCursor
    return text


def _place(record: ModelRecord) -> str:
    return f"{record.created_ms:015} {record.version}"


def _pointers(registry: Registry) -> tuple[dict[str, str], dict[str, str]]:
    return registry.active(), registry.pins()


def _shown(registry: Registry, version: str) -> Model:
    return shown_model(registry.record(version), *_pointers(registry))


def _named(registry: Registry, version: str) -> ModelRecord:
    """Return the model with this version, or whose version begins with it."""
    if len(version) < SHOWN:
        raise NotFound(
            f"there is no model {version!r}: give the version or its first {SHOWN} characters; "
            "`hedgerow models list` and GET /v1/models show all"
        )
    return registry.named(version)


def _promoted(registry: Registry, version: str, who: str, why: str) -> Model:
    record = _named(registry, version)
    expected = registry.active().get(record.strategy)
    registry.set_active(record.strategy, record.version, expected=expected, who=who, why=why)
    return _shown(registry, record.version)


def _pinned(registry: Registry, version: str, who: str, why: str) -> Model:
    whole = _named(registry, version).version
    registry.pin(whole, who, why)
    return _shown(registry, whole)


def _unpinned(registry: Registry, version: str, who: str, why: str) -> Model:
    whole = _named(registry, version).version
    registry.unpin(whole, who, why)
    return _shown(registry, whole)


def _rolled_back(registry: Registry, order: RollBack, who: str) -> Model:
    strategy = order.strategy or registry.only_strategy()
    return _shown(registry, registry.roll_back(strategy, who=who, why=order.why))
