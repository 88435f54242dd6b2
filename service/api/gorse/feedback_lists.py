"""Reading feedback: records of a user, of an item, of a pair, and pages of all."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.responses import PlainTextResponse

from service.api.catalogue.listing import users_after
from service.api.gorse.call import Call
from service.api.gorse.feedback import types_of
from service.api.gorse.kinds import read_expression
from service.api.gorse.records import Record, past_events
from service.errors import ServiceError
from service.http.cursors import InvalidCursor, make_cursor, read_cursor

USERS_OF_PAGE = 500
"""Most users whose feedback is read for one page, which may be shorter for that."""
USERS_OF_ITEM = 10_000
"""Most users that there may be where the feedback of an item is read: nothing lists it by item."""

Place = list[str]
"""User, type and item of the last record of a page; the user alone if all of theirs were shown."""


class NotByItem(ServiceError):
    """There are too many users to look for an item in the history of each."""

    status, code = 501, "not_offered"

    def __init__(self) -> None:
        super().__init__(
            f"with more than {USERS_OF_ITEM} users the feedback of an item cannot be listed: "
            "histories are kept by user; GET /api/feedback lists all"
        )


async def of_user(call: Call) -> Any:
    expression = call.path.get("expression")
    fits = read_expression(expression) if expression else (lambda kind, value: True)
    records = await _records(call, call.user)
    return [record.shown() for record in records if fits(record.kind, record.value)]


async def of_pair(call: Call) -> Any:
    return [record.shown() for record in await _of_item(call, [call.user])]


async def one(call: Call) -> Any:
    kind = call.path["feedback-type"]
    for record in await _of_item(call, [call.user]):
        if record.kind == kind:
            return record.shown()
    return PlainTextResponse("{}")


async def of_item(call: Call) -> Any:
    users = await users_after(call.runtime, None, USERS_OF_ITEM + 1)
    if len(users) > USERS_OF_ITEM:
        raise NotByItem
    kind, found = call.path.get("feedback-type"), await _of_item(call, users)
    return [record.shown() for record in found if kind in {None, record.kind}]


async def page(call: Call) -> Any:
    kind, n = call.path.get("feedback-type"), call.n
    of, given = f"gorse feedback {kind or ''}", call.value("cursor")
    after = _place(read_cursor(of, given)) if given else []
    records, last = await _page(call, after, kind, n)
    cursor = "" if last is None else make_cursor(of, json.dumps(last))
    return {"Cursor": cursor, "Feedback": [record.shown() for record in records]}


async def _page(
    call: Call, after: Place, kind: str | None, n: int
) -> tuple[list[Record], Place | None]:
    """Return up to n records after a place, and where they end; None at the end of all."""
    found: list[Record] = []
    users = await users_after(call.runtime, after[0] if after else None, USERS_OF_PAGE)
    begun = after[:1] if len(after) > 1 else []
    for user in [*begun, *users]:
        for record in await _records(call, user):
            is_before = [user] == after[:1] and _key(record) <= _bytes(after)
            if is_before or kind not in {None, record.kind}:
                continue
            if len(found) == n:
                return found, [found[-1].user, found[-1].kind, found[-1].item]
            found.append(record)
    return found, [users[-1]] if len(users) == USERS_OF_PAGE else None


async def _of_item(call: Call, users: Sequence[str]) -> list[Record]:
    """Return the records of users about the item of the path."""
    [number] = await call.runtime.numbers.lookup([call.item])
    if number is None:
        return []
    return [record for user in users for record in await _records(call, user, number)]


async def _records(call: Call, user: str, item: int | None = None) -> list[Record]:
    past = await past_events(call.runtime, types_of(call), user, item)
    return past.records()


def _key(record: Record) -> list[bytes]:
    return _bytes([record.user, record.kind, record.item])


def _bytes(place: Place) -> list[bytes]:
    return [part.encode() for part in place]


def _place(position: str) -> Place:
    try:
        place = msgspec.json.decode(position, type=Place)
    except msgspec.DecodeError:
        raise InvalidCursor from None
    if len(place) not in {1, 3}:
        raise InvalidCursor
    return place
