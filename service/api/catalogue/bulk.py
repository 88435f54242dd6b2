"""Bulk uploads of items or users: NDJSON with one document per line, each written as by PUT."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from service.api.catalogue.schemas import (
    BulkRejected,
    BulkWritten,
    ItemBody,
    ItemLine,
    UserBody,
    UserLine,
    stored,
)
from service.api.routing import RawRoute, runtime_of
from service.errors import TooLarge
from service.http.documentation import answers, ndjson_body
from service.http.faults import MOST, of_pydantic
from service.http.lines import BodyLines, LineBlock
from service.http.problems import problem
from service.http.routing import media_type
from service.runtime import ApiRuntime
from service.store.catalogue.documents import Body
from service.store.catalogue.numbers import TooManyItems

BLOCK_BYTES = 128 << 10
MAX_REJECTED = 1_000

router = APIRouter(route_class=RawRoute)

_ITEM = {"item": "tt0111161", "categories": ["film"], "features": {"title": "The Long Hedge"}}
_USER = {"user": "ada", "features": {"age": 31, "plan": "family"}}


def _many(line: str, example: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a route that takes any number of lines."""
    written = answers(
        {200: "BulkWritten"}, {200: "The valid lines are written."}, "nothing_accepted"
    )
    return {"x-streams": True, "requestBody": ndjson_body(line, example), "responses": written}


@router.post(
    "/v1/items",
    tags=["items"],
    summary="Write many items",
    openapi_extra=_many("ItemLine", _ITEM),
)
async def write_items(request: Request) -> Response:
    """NDJSON of any length, one item per line: its id and document, which replaces the old one.

    A bad line is one entry of `rejected` and stops nothing. If an item has several lines, the last
    one counts.
    """
    return await _uploaded(request, _ITEMS)


@router.post(
    "/v1/users",
    tags=["users"],
    summary="Write many users",
    openapi_extra=_many("UserLine", _USER),
)
async def write_users(request: Request) -> Response:
    """NDJSON of any length, one user per line: the id and document, which replaces the old one.

    A bad line is one entry of `rejected` and stops nothing. If a user has several lines, the last
    one counts.
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


async def _write_items(runtime: ApiRuntime, bodies: Mapping[str, Body]) -> Collection[str]:
    numbers = await runtime.numbers.give(bodies)
    await runtime.catalogue.replace_items({numbers[item]: bodies[item] for item in numbers})
    return bodies.keys() - numbers.keys()


async def _write_users(runtime: ApiRuntime, bodies: Mapping[str, Body]) -> Collection[str]:
    await runtime.catalogue.replace_users(bodies)
    return ()


_ITEMS = _Documents("item", ItemLine, ItemBody, _write_items)
_USERS = _Documents("user", UserLine, UserBody, _write_users)


async def _uploaded(request: Request, documents: _Documents) -> Response:
    media_type(request, "application/x-ndjson", "application/ndjson", "application/jsonl")
    upload = _Upload(runtime_of(request), documents)
    lines = BodyLines(
        request.receive,
        block_bytes=BLOCK_BYTES,
        max_line_bytes=request.app.state.settings.max_line_bytes,
    )
    async for block in lines.blocks():
        await upload.take(block)
    done = upload.written
    if done.rejected_total and not done.accepted:
        detail = "no line was accepted: `rejected` says why for each"
        request_id = request.scope["request_id"]
        return problem(request_id, 422, "nothing_accepted", detail, **done.model_dump())
    return Response(done.model_dump_json(), media_type="application/json")


class _Upload:
    def __init__(self, runtime: ApiRuntime, documents: _Documents) -> None:
        self._runtime, self._documents = runtime, documents
        self._max_line = runtime.settings.max_line_bytes
        self.written = BulkWritten(accepted=0, rejected=[], rejected_total=0, lines=0)

    async def take(self, block: LineBlock) -> None:
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
        return f"a line has at most {self._max_line} bytes"

    def _reject(self, index: int, code: str, detail: str) -> None:
        self.written.rejected_total += 1
        if len(self.written.rejected) < MAX_REJECTED:
            rejected = BulkRejected(index=index, line=index + 1, code=code, detail=detail)
            self.written.rejected.append(rejected)


def _fault(error: ValidationError) -> tuple[str, str]:
    faults = error.errors(include_url=False, include_input=False)
    if any(fault["type"] == "json_invalid" for fault in faults):
        return "malformed_json", f"the line {of_pydantic(faults[0])[1]}"
    told = [": ".join(filter(None, of_pydantic(fault))) for fault in faults[:3]]
    return "invalid_document", "; ".join(told)[:MOST].encode(errors="replace").decode()
