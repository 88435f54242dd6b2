"""The events of a user: read them page by page, delete those about an item."""

import numpy as np
from fastapi import APIRouter
from starlette.responses import Response

from service.api.feedback.deletions import SAFE, Receipt
from service.api.feedback.deletions import delete_rating as deleted_rating
from service.api.feedback.past_events import Event, past_events
from service.api.routing import ItemId, Route, Runtime, UserId
from service.api.schemas import Cursor, Limit, Page
from service.errors import NotFound
from service.http.cursors import make_cursor, read_number
from service.http.documentation import problems
from service.store.profiles.history_record import sequences

router = APIRouter(route_class=Route, tags=["feedback"])


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
    events = await past_events(runtime, user, history[first:end], contexts)
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
