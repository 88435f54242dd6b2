"""The events of a user: read them page by page, delete those about an item."""

from typing import Any

import numpy as np
from fastapi import APIRouter
from numpy.typing import NDArray
from starlette.responses import Response

from core.meaning import RATING
from service.api.feedback.deletions import SAFE, Receipt
from service.api.feedback.deletions import delete_rating as deleted_rating
from service.api.routing import ItemId, Route, Runtime, UserId
from service.api.schemas import Answer, Cursor, Limit, Page
from service.api.times import Time, rfc3339
from service.errors import NotFound
from service.http.cursors import make_cursor, read_number
from service.http.documentation import problems
from service.ids import sequence_token
from service.runtime.api import ApiRuntime
from service.store.partitions import partition_of
from service.store.profiles.contexts import Contexts
from service.store.profiles.history_record import sequences

router = APIRouter(route_class=Route, tags=["feedback"])


class Event(Answer):
    """One event of a history."""

    item: str
    """The item of the event."""
    kind: str
    """`rating`, or the kind of feedback."""
    rating: float | None
    """Null for other kinds."""
    timestamp: Time
    """When it happened, as sent; else when it was accepted."""
    context: dict[str, str]
    """Where it happened, as sent; empty if it was not said."""
    sequence: str
    """The place of the event in the order of events."""


class EventPage(Page[Event]):
    """A page of a history, the newest event first."""


@router.get("/v1/users/{user:id}/ratings", summary="Read a user's history")
async def get_history(
    runtime: Runtime, user: UserId, limit: Limit = 100, cursor: Cursor = None
) -> EventPage:
    """All learned events that are kept, the newest first; new events do not shift the pages."""
    of = f"ratings of {user}"
    before = None if cursor is None else read_number(of, cursor)
    history, contexts = await runtime.profiles.placed_history(user)
    order = sequences(history)
    end = len(order) if before is None else int(np.searchsorted(order, before))
    first = max(end - limit, 0)
    events = await _events(runtime, user, history[first:end], contexts)
    return EventPage(
        items=events[::-1], next_cursor=make_cursor(of, int(order[first])) if first else None
    )


@router.delete(
    "/v1/users/{user:id}/ratings/{item:id}",
    summary="Delete a rating",
    responses=SAFE | problems("not_found", "backlogged"),
)
async def delete_rating(
    runtime: Runtime, user: UserId, item: ItemId, response: Response
) -> Receipt:
    """Delete all events of this user and this item that were acknowledged before.

    404 only if nobody ever named the item: whether this user rated it is known once the deletion is
    learned.
    """
    token = runtime.known.token
    [number] = await runtime.numbers.lookup([item])
    if number is None:
        raise NotFound("there is no such item, so nobody has rated it")
    receipt = await deleted_rating(runtime, user, item, number, token)
    response.status_code = 200 if receipt.learned else 202
    return receipt


async def _events(
    runtime: ApiRuntime, user: str, history: NDArray[Any], contexts: Contexts
) -> list[Event]:
    partition = partition_of(user, runtime.namespace.partitions)
    kinds = {kind.code: name for name, kind in runtime.settings.kinds.items()}
    items = await runtime.numbers.ids(history["item"].tolist())
    return [
        Event(
            item=item,
            kind="rating" if code == RATING else kinds.get(code, f"kind {code}"),
            # the shortest number that is the same float32: what was sent
            rating=float(str(value)) if code == RATING else None,
            timestamp=rfc3339(time_ms),
            context=dict(contexts.get(sequence, {})),
            sequence=sequence_token({partition: sequence}),
        )
        for item, code, value, time_ms, sequence in zip(
            items,
            history["kind"].tolist(),
            history["value"],
            history["time_ms"].tolist(),
            sequences(history).tolist(),
            strict=True,
        )
    ]
