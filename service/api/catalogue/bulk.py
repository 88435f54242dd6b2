"""Bulk uploads of items or users: lines of NDJSON or a JSON array, each row written as by PUT."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from fastapi import APIRouter
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from service.api.catalogue import writing
from service.api.catalogue.schemas import (
    BulkRejected,
    BulkWritten,
    ItemBody,
    ItemLine,
    UserBody,
    UserLine,
    stored,
)
from service.api.feedback.schemas import DECODE_ERRORS, decode_fault
from service.api.routing import RawRoute, runtime_of
from service.errors import InvalidEvent, TooLarge
from service.http.documentation import answers, rows_body
from service.http.faults import MOST, of_pydantic
from service.http.lines import BodyLines, LineBlock
from service.http.problems import problem
from service.http.routing import bounded, media_type, read_body
from service.runtime.api import ApiRuntime
from service.store.catalogue.documents import Body
from service.store.catalogue.numbers import TooManyItems

BLOCK_BYTES = 128 << 10
MAX_REJECTED = 1_000
ROWS = 200
"""Rows of an array that are written at once; other requests wait while they are parsed."""

JSON = "application/json"
_Raws = list[msgspec.Raw]

router = APIRouter(route_class=RawRoute)

_ITEM = {"item": "tt0111161", "categories": ["film"], "features": {"title": "The Long Hedge"}}
_USER = {"user": "ada", "features": {"age": 31, "plan": "family"}}


def _many(line: str, example: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a route that takes any number of lines, or an array."""
    codes = ("nothing_accepted", "invalid_document", "malformed_json", "too_large")
    written = answers({200: "BulkWritten"}, {200: "The valid rows are written."}, *codes)
    return {"x-streams": True, "requestBody": rows_body(line, example), "responses": written}


@router.post(
    "/v1/items",
    tags=["items"],
    summary="Write many items",
    openapi_extra=_many("ItemLine", _ITEM),
)
async def write_items(request: Request) -> Response:
    """One item per line of NDJSON, of any length, or a JSON array of up to 10 000 items.

    Each row holds an id and a document, which replaces the old one. A bad row is one entry of
    `rejected` and stops nothing. If an item has several rows, the last one counts.
    """
    return await _uploaded(request, _ITEMS)


@router.post(
    "/v1/users",
    tags=["users"],
    summary="Write many users",
    openapi_extra=_many("UserLine", _USER),
)
async def write_users(request: Request) -> Response:
    """One user per line of NDJSON, of any length, or a JSON array of up to 10 000 users.

    Each row holds an id and a document, which replaces the old one. A bad row is one entry of
    `rejected` and stops nothing. If a user has several rows, the last one counts.
    """
    return await _uploaded(request, _USERS)


@dataclass(frozen=True)
class _Documents:
    """The kind of documents that a route takes."""

    id_field: str
    line: type[BaseModel]
    body: type[BaseModel]
    write: Callable[[ApiRuntime, Mapping[str, Body]], Awaitable[Collection[str]]]
    """Puts the documents by id; returns the ids for which there is no room."""


_ITEMS = _Documents("item", ItemLine, ItemBody, writing.write_items)
_USERS = _Documents("user", UserLine, UserBody, writing.write_users)


async def _uploaded(request: Request, documents: _Documents) -> Response:
    kind = media_type(
        request, "application/x-ndjson", "application/ndjson", "application/jsonl", JSON
    )
    upload = _Upload(runtime_of(request), documents)
    await (upload.array(request) if kind == JSON else upload.lines(request))
    done = upload.written
    if not done.accepted and (done.rejected_total or kind == JSON):
        detail = "no row was accepted: `rejected` says why for each; an empty array is refused too"
        request_id = request.scope["request_id"]
        return problem(request_id, 422, "nothing_accepted", detail, **done.model_dump())
    return Response(done.model_dump_json(), media_type=JSON)


class _Upload:
    def __init__(self, runtime: ApiRuntime, documents: _Documents) -> None:
        self._runtime, self._documents = runtime, documents
        self._max_line = runtime.settings.max_line_bytes
        self.written = BulkWritten(accepted=0, rejected=[], rejected_total=0, lines=0)

    async def lines(self, request: Request) -> None:
        """Write the lines of a body of any length."""
        lines = BodyLines(request.receive, block_bytes=BLOCK_BYTES, max_line_bytes=self._max_line)
        async for block in lines.blocks():
            await self._take(block)

    async def array(self, request: Request) -> None:
        """Write the rows of one array."""
        settings = self._runtime.settings
        with request.app.state.bodies.holding() as held:
            body = await read_body(bounded(request.receive, settings.max_body_bytes, held))
            rows = _rows(body, self._documents.id_field, settings.max_array)
            self.written.lines = len(rows)
            for first in range(0, len(rows), ROWS):
                bodies: dict[str, list[tuple[int, Body]]] = {}
                for index, row in enumerate(rows[first : first + ROWS], first):
                    self._read(index, bytes(row), bodies)
                await self._write(bodies)

    async def _take(self, block: LineBlock) -> None:
        self.written.lines += block.n
        if block.too_long:
            self._reject(block.first, "line_too_long", self._too_long())
            return
        bodies: dict[str, list[tuple[int, Body]]] = {}
        for index, line in enumerate(block.text.split(b"\n"), block.first):
            if line.strip():
                self._read(index, line, bodies)
        await self._write(bodies)

    def _read(self, index: int, line: bytes, bodies: dict[str, list[tuple[int, Body]]]) -> None:
        if len(line) > self._max_line:
            self._reject(index, "line_too_long", self._too_long())
            return
        try:
            said = self._documents.line.model_validate_json(line).model_dump()
            name = said.pop(self._documents.id_field)
            body = stored(self._documents.body.model_validate(said))
        except ValidationError as error:
            self._reject(index, *_fault(error))
        except TooLarge as error:
            self._reject(index, error.code, error.detail)
        else:
            bodies.setdefault(name, []).append((index, body))

    async def _write(self, bodies: dict[str, list[tuple[int, Body]]]) -> None:
        last = {name: lines[-1][1] for name, lines in bodies.items()}
        homeless = await self._documents.write(self._runtime, last)
        for name, lines in bodies.items():
            if name not in homeless:
                self.written.accepted += len(lines)
                continue
            for index, _ in lines:
                self._reject(index, TooManyItems.code, self._runtime.numbers.exhausted)

    def _too_long(self) -> str:
        return f"a line or row has at most {self._max_line} bytes"

    def _reject(self, index: int, code: str, detail: str) -> None:
        self.written.rejected_total += 1
        if len(self.written.rejected) < MAX_REJECTED:
            rejected = BulkRejected(index=index, line=index + 1, code=code, detail=detail)
            self.written.rejected.append(rejected)


def _rows(body: bytes, named: str, most: int) -> Sequence[msgspec.Raw]:
    """Return each row of an array, unparsed; a lone object is an array of one."""
    text = body.strip()
    if text[:1] not in {b"[", b"{"}:
        says = f'the body must be an array of documents: [{{"{named}": "...", ...}}, ...]'
        raise InvalidEvent(says, code="invalid_document")
    try:
        rows = msgspec.json.decode(text if text[:1] == b"[" else b"[%b]" % text, type=_Raws)
    except DECODE_ERRORS as error:
        code, detail = decode_fault(error)
        raise InvalidEvent(detail, code=code) from None
    if len(rows) > most:
        raise TooLarge(f"an array has at most {most} rows: send it in parts, or as NDJSON")
    return rows


def _fault(error: ValidationError) -> tuple[str, str]:
    faults = error.errors(include_url=False, include_input=False)
    if any(fault["type"] == "json_invalid" for fault in faults):
        return "malformed_json", f"the row {of_pydantic(faults[0])[1]}"
    told = [": ".join(filter(None, of_pydantic(fault))) for fault in faults[:3]]
    return "invalid_document", "; ".join(told)[:MOST].encode(errors="replace").decode()
