"""Sends rows of Gorse to the routes of Gorse that a running service answers."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from itertools import groupby
from time import perf_counter
from typing import Any

import msgspec

from service.client import Refused, ServiceClient
from service.errors import Misconfigured, StoreUnavailable
from service.files.foreign.gorse_dump import Row, Section
from service.files.sending import KEPT, Summary

ROWS = 1_000
"""Rows of one request."""
_OF_A_ROW = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
}
"""Statuses that rows can be to blame for; others would come for any rows."""
OnRows = Callable[[Summary], None]


def check_gorse(client: ServiceClient) -> None:
    """Raise unless the service answers Gorse's routes and accepts the key."""
    try:
        client.get("/api/health/live")
    except Refused as error:
        raise Misconfigured(
            "the service does not answer the routes of Gorse: set HEDGEROW_GORSE_API=true"
        ) from error
    client.post("/api/feedback", [])


def send_gorse(
    client: ServiceClient, rows: Iterable[Row], found: dict[str, Summary], on_rows: OnRows
) -> None:
    """Send rows in their order, and add what became of them to ``found``, by section.

    Feedback replaces what is there, and counts once however often a file is sent. A row that the
    service refuses is left out.
    """
    for section, part in _parts(rows):
        summary, started = found.setdefault(section, Summary()), perf_counter()
        with _saying_what_is_stored(summary):
            _send(client, section, part, summary)
        summary.seconds += perf_counter() - started
        on_rows(summary)


def _send(client: ServiceClient, section: Section, rows: list[Row], summary: Summary) -> None:
    body = [row.members for row in rows]
    try:
        if section == "feedback":
            _send_feedback(client, rows, body)
        else:
            client.post(f"/api/{section}", body)
    except Refused as error:
        if error.status not in _OF_A_ROW:
            raise
        if len(rows) > 1:
            # one of them is refused, and with it the list: look for it
            half = len(rows) // 2
            _send(client, section, rows[:half], summary)
            _send(client, section, rows[half:], summary)
            return
        summary.rejected_total += 1
        if len(summary.rejected) < KEPT:
            refused = {"line": rows[0].number, "code": "refused", "detail": error.detail}
            summary.rejected.append(refused)
        return
    summary.accepted += len(rows)


def _send_feedback(client: ServiceClient, rows: list[Row], body: list[dict[str, Any]]) -> None:
    try:
        client.put("/api/feedback", body, feedback_key(rows[0].number, body))
    except Refused as error:
        if error.status != HTTPStatus.CONFLICT:
            raise
        # since they were sent first, the service was told that their types mean other kinds
        client.put("/api/feedback", body)


def feedback_key(number: int, body: list[dict[str, Any]]) -> str:
    """Return the Idempotency-Key of rows, computed from their position and content."""
    salt = number.to_bytes(8, "big")
    digest = hashlib.blake2b(msgspec.json.encode(body), digest_size=16, salt=salt)
    return f"import-gorse-{digest.hexdigest()}"


def _parts(rows: Iterable[Row]) -> Iterator[tuple[Section, list[Row]]]:
    """Yield rows in parts, in each part one of a key: of repeated ones Gorse reads the first."""
    for section, some in groupby(rows, key=lambda row: row.section):
        part: dict[tuple[str, ...], Row] = {}
        for row in some:
            # as text: a list in the place of an id is for the service to refuse
            key = tuple(str(row.members.get(name)) for name in _KEYS[section])
            if key in part or len(part) == ROWS:
                yield section, [*part.values()]
                part = {}
            part[key] = row
        if part:
            yield section, [*part.values()]


_KEYS = {
    "users": ("UserId",),
    "items": ("ItemId",),
    "feedback": ("FeedbackType", "UserId", "ItemId"),
}


@contextmanager
def _saying_what_is_stored(summary: Summary) -> Iterator[None]:
    try:
        yield
    except StoreUnavailable as error:
        raise StoreUnavailable(
            f"{error}. {summary.accepted:,} rows are stored for certain; import the same file "
            "again when the service is back: rows that are stored already count once"
        ) from error
