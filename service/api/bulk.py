"""Many items' documents at once: NDJSON, a document a line, each put as by PUT."""

from fastapi import APIRouter
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from service.api.catalogue import stored
from service.api.documentation import answers, ndjson_body
from service.api.lines import Block, Lines
from service.api.problems import problem
from service.api.routing import RawRoute, media_type, runtime_of
from service.api.schemas import BulkRejected, BulkWritten, ItemBody, ItemLine
from service.errors import TooLarge
from service.runtime import ApiRuntime
from service.store.catalogue import Body
from service.store.numbers import TooManyItems

BLOCK_BYTES = 128 << 10
MAX_REJECTED = 1_000

router = APIRouter(route_class=RawRoute, tags=["items"])

_EXAMPLE = {"item": "tt0111161", "categories": ["film"], "features": {"title": "The Long Hedge"}}


@router.post(
    "/v1/items",
    summary="Write many items",
    status_code=200,
    openapi_extra={
        "x-streams": True,
        "requestBody": ndjson_body("ItemLine", _EXAMPLE),
        "responses": answers({200: "BulkWritten"}, (415,), {200: "The good lines are written."}),
    },
)
async def post_items(request: Request) -> Response:
    """NDJSON of any length: an item's id and its document a line; it replaces what was there.

    A bad line is one entry of `rejected` and stops nothing. Of several lines of one item the last counts.
    """
    media_type(request, "application/x-ndjson", "application/ndjson", "application/jsonl")
    upload = _Upload(runtime_of(request))
    lines = Lines(
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
    def __init__(self, runtime: ApiRuntime) -> None:
        self._runtime = runtime
        self._max_line = runtime.settings.max_line_bytes
        self.written = BulkWritten(accepted=0, rejected=[], rejected_total=0, lines=0)

    async def take(self, block: Block) -> None:
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
            said = ItemLine.model_validate_json(line)
            body = stored(ItemBody.model_validate(said.model_dump(exclude={"item"})))
        except ValidationError as error:
            self._reject(index, *_fault(error))
        except TooLarge as error:
            self._reject(index, error.code, error.detail)
        else:
            bodies.setdefault(said.item, []).append((index, body))

    async def _write(self, bodies: dict[str, list[tuple[int, Body]]]) -> None:
        numbers = await self._runtime.numbers.give(bodies)
        for item, lines in bodies.items():
            if item in numbers:
                self.written.accepted += len(lines)
                continue
            for index, _ in lines:
                self._reject(index, TooManyItems.code, self._runtime.numbers.exhausted)
        await self._runtime.catalogue.replace_items(
            {number: bodies[item][-1][1] for item, number in numbers.items()}
        )

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
        return "malformed_json", faults[0]["msg"]
    told = (f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults[:3])
    return "invalid_document", "; ".join(told)[:300].encode(errors="replace").decode()
