"""The audit log: what operators did, over HTTP and on the command line."""

import asyncio
import re
from typing import Annotated

from fastapi import APIRouter, Query

from service.api.routing import Route, Runtime
from service.api.schemas import Answer, Cursor, Page
from service.api.times import Time, rfc3339
from service.http.cursors import InvalidCursor, make_cursor, read_cursor
from service.store.audit import Entry

router = APIRouter(route_class=Route, tags=["admin"])

LIST = "audit"
Limit = Annotated[int, Query(ge=1, le=500, description="Maximum number of acts on the page.")]


class AuditEntry(Answer):
    """Something that an operator did, or tried to do."""

    time: Time
    """When it ended."""
    who: str
    """`key` and the id of the key; `local` where no key was needed; `command line`."""
    act: str
    """The operation as this document names it, or what the command line did."""
    about: dict[str, str]
    """What was changed. Users are not named: the deletion of a user has the id of its erasure."""
    result: str
    """`done`, the code of the error, or `interrupted` for a verb that Ctrl-C ended."""


class AuditPage(Page[AuditEntry]):
    """A page of the audit log, the newest act first."""


@router.get("/v1/audit", summary="Read the audit log")
async def get_audit(runtime: Runtime, limit: Limit = 100, cursor: Cursor = None) -> AuditPage:
    """What operators did, the newest first: keys, models, trainings, deletions, exports of users.

    The newest 10 000 acts are kept. A request without the needed role is not an act.
    """
    before = None if cursor is None else _entry_id(read_cursor(LIST, cursor))
    found = await asyncio.to_thread(runtime.audit.entries, limit + 1, before)
    shown = found[:limit]
    more = len(found) > limit
    return AuditPage(
        items=[_shown(entry) for entry in shown],
        next_cursor=make_cursor(LIST, shown[-1].id) if more else None,
    )


def _shown(entry: Entry) -> AuditEntry:
    act = entry.act
    return AuditEntry(
        time=rfc3339(entry.at_ms),
        who=act.who,
        act=act.act,
        about=dict(act.about),
        result=act.result,
    )


def _entry_id(text: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,14}-[0-9]{1,15}", text):
        raise InvalidCursor
    return text
