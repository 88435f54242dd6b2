"""Receipts of erased users: what is gone by now, and what is left until when."""

import asyncio
from collections.abc import Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Path

from service.api.routing import Route, Runtime
from service.api.schemas import Answer
from service.api.times import Time, rfc3339, rfc3339_or_none
from service.http.documentation import problems
from service.http.faults import ERASURE_ID
from service.runtime.api import ApiRuntime
from service.store.erasures.records import Erasure

router = APIRouter(route_class=Route, tags=["users"])

Where = Literal[
    "log", "store", "disk", "models", "documents", "dead_letters", "event_ids", "backups"
]


class RemovedTraces(Answer):
    """Traces of the user in other data."""

    links: int
    """Documents of others that linked to the user, or to others deleted at the same time."""
    events: int
    """Events in log entries that could not be learned."""


class Remains(Answer):
    """Something that is not removed yet."""

    where: Where
    """`log`: the deletion waits to be learned. `store`: links of other users, the change feed and
    dead letters. `disk`: the server's append-only file. `models`: what models learned from the
    events; they contain no id and no vector of the user. `documents`, `dead_letters`: unreadable
    data that may name the user. `event_ids`: digests of the events' ids."""
    until: str
    """When or how it is removed."""


class ErasedUser(Answer):
    """The receipt of a deleted user, which does not name the user."""

    erasure: str
    """Names the receipt."""
    sequence: str
    """The place of the deletion in the order of events; a later one if it had to be repeated."""
    deleted: Time
    """When the deletion was accepted."""
    erased: Time | None
    """When the user's id was removed from the store and from all lists and caches; null: not
    yet."""
    erased_from_disk: Time | None
    """When the private server had rewritten its file; null: not yet, or the service uses another
    server."""
    removed: RemovedTraces | None
    """What was found and removed; null: not yet."""
    remains: list[Remains]
    """What is not removed yet, and until when it stays."""


ErasureId = Annotated[str, Path(pattern=ERASURE_ID, description="`erasure` of a deleted user.")]


@router.get(
    "/v1/erasures/{erasure}",
    summary="Read the receipt of an erasure",
    responses=problems("not_found"),
)
async def get_erasure(runtime: Runtime, erasure: ErasureId) -> ErasedUser:
    """Which traces of a deleted user are removed, and which are not yet; receipts are kept for 400
    days."""
    found = await asyncio.to_thread(runtime.erasures.read, erasure)
    models = await asyncio.to_thread(_older_models, runtime, found)
    return ErasedUser(
        erasure=found.id,
        sequence=f"{found.partition}:{found.sequence}",
        deleted=rfc3339(found.accepted_ms),
        erased=rfc3339_or_none(found.erased_ms),
        erased_from_disk=rfc3339_or_none(found.off_disk_ms),
        removed=_removed(found),
        remains=[Remains(where=one, until=until) for one, until in _left(runtime, found, models)],
    )


def _removed(erasure: Erasure) -> RemovedTraces | None:
    found = erasure.removed
    if found is None:
        return None
    return RemovedTraces(links=found.links, events=found.events)


def _older_models(runtime: ApiRuntime, erasure: Erasure) -> int:
    """Return the number of kept versions that were trained before the deletion."""
    records = runtime.registry.records()
    cuts = [one.cuts.get("trained_through", {}).get(str(erasure.partition)) for one in records]
    return sum(cut is not None and int(cut) < erasure.sequence for cut in cuts)


def _left(runtime: ApiRuntime, erasure: Erasure, models: int) -> Iterator[tuple[Where, str]]:
    if runtime.changes.watermark(erasure.partition) < erasure.sequence:
        yield "log", "the learner reads the deletion, usually within milliseconds"
    if erasure.erased_ms is None:
        yield "store", "an api process has looked through all documents, seconds later"
    if erasure.off_disk_ms is None and (erasure.is_private or erasure.erased_ms is None):
        yield "disk", "the file is written anew, at most every HEDGEROW_ERASURE_REWRITE_PAUSE_S"
    elif erasure.off_disk_ms is None:
        yield "disk", "your Redis writes its file anew: BGREWRITEAOF, or BGSAVE without such a file"
    if models:
        stay = "1 earlier version stays" if models == 1 else f"{models} earlier versions stay"
        them = "it" if models == 1 else "them"
        yield "models", f"the next training; {stay} until HEDGEROW_KEEP_MODELS removes {them}"
    if erasure.removed is not None and erasure.removed.unreadable:
        n = erasure.removed.unreadable
        yield (
            "dead_letters",
            f"`hedgerow dead-letters discard`: {n} unreadable may name the user",
        )
    if erasure.removed is not None and erasure.removed.documents:
        n = erasure.removed.documents
        mended = "you write them again or delete their users"
        yield "documents", f"{mended}: {n} cannot be read, `documents_unreadable` in the log"
    yield "event_ids", "HEDGEROW_DEDUPE_WINDOW later ones have displaced them"
    yield "backups", "you delete those that were taken before"
