"""Feedback in: one event, an array, or a stream of lines (see ``upload``)."""

from typing import Any

import msgspec
from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from service.api.feedback.intake import Accepted, AcceptedOne, Intake, Outcome
from service.api.feedback.schemas import (
    DECODE_ERRORS,
    Fault,
    Feedback,
    decode_array,
    decode_fault,
    decode_one,
)
from service.api.feedback.sender import MAX_KEY_LENGTH, Sender, idempotency_key
from service.api.feedback.upload import Upload
from service.api.routing import FeedbackRoute
from service.errors import InvalidEvent, ServiceError, TooLarge
from service.http.documentation import (
    answers,
    json_body,
    ndjson_body,
    parameter,
    reference,
)
from service.http.problems import of_http_exception, of_service_error, problem
from service.http.routing import media_type, read_body

MAX_AWAITED_ROWS = 100

router = APIRouter(route_class=FeedbackRoute, tags=["feedback"])
_encode = msgspec.json.Encoder().encode

_EXAMPLE = {
    "user": "ada",
    "item": "tt0111161",
    "rating": 4.5,
    "timestamp": "2026-11-18T12:00:00Z",
}
_IDEMPOTENCY = parameter(
    "Idempotency-Key",
    "header",
    f"Row i (from 0) without an `event_id` gets the id `<key>#i`, so that a repeat counts once. A "
    f"key that came before with another first row is refused. "
    f"1 to {MAX_KEY_LENGTH} characters.",
    {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH},
)
_WAIT = parameter(
    "wait",
    "query",
    f"`learned`: answer once the rows are learned, with what was predicted just before, and "
    f"with all repeats among the rows (at most {MAX_AWAITED_ROWS} rows).",
    {"type": "string", "enum": ["learned"]},
)


def _events() -> dict[str, Any]:
    """Describe a route of events; each has its own copy, which the document completes."""
    return {
        "parameters": [_WAIT, _IDEMPOTENCY],
        "requestBody": json_body(
            {
                "oneOf": [
                    reference("Feedback"),
                    {"type": "array", "items": reference("Feedback"), "maxItems": 10_000},
                ]
            },
            one=_EXAMPLE,
            several=[_EXAMPLE, {"user": "ada", "item": "tt0068646", "kind": "view"}],
        ),
        "responses": answers(
            {202: "Written", 200: "Written"},
            {202: "The rows are stored.", 200: "They have also been learned (`?wait=learned`)."},
            *("invalid_id", "invalid_event", "future_timestamp", "out_of_scale", "unknown_kind"),
            *("idempotency_key_reused", "nothing_accepted", "item_limit", "backlogged"),
        ),
    }


def _stream() -> dict[str, Any]:
    """Describe a route of streams."""
    return {
        "x-streams": True,
        "parameters": [_IDEMPOTENCY],
        "requestBody": ndjson_body("Feedback", _EXAMPLE),
        "responses": answers(
            {202: "Uploaded"},
            {202: "The valid rows are stored."},
            *("idempotency_key_reused", "nothing_accepted", "backlogged"),
        ),
    }


@router.post("/v1/events", summary="Send feedback", status_code=202, openapi_extra=_events())
@router.post(
    "/v1/ratings",
    operation_id="sendRatings",
    summary="Send feedback, by its earlier name",
    status_code=202,
    openapi_extra=_events(),
)
async def send_feedback(request: Request) -> Response:
    """One event or an array of them. Accepted events are stored durably, and learned within
    milliseconds.

    Rows of an array are accepted one by one: 202 if at least one was accepted, else 422; `rejected`
    lists the others.
    """
    scope = request.scope
    intake: Intake = scope["app"].state.intake
    sender = Sender(scope, idempotency_key(request.scope))
    media_type(request, "application/json")
    body = await read_body(request.receive)
    if scope["query_string"]:
        return await _wait_learned(request, intake, body, sender)
    if body.lstrip()[:1] != b"[":
        return _accepted(await intake.accept_one(_event(body, intake), sender))
    limit = scope["app"].state.settings.max_array
    return _written(request, await intake.accept(_array(body, limit, intake), sender))


@router.post(
    "/v1/events/stream",
    summary="Send a stream of feedback",
    status_code=202,
    openapi_extra=_stream(),
)
@router.post(
    "/v1/ratings/stream",
    operation_id="streamRatings",
    summary="Send a stream of feedback, by its earlier name",
    status_code=202,
    openapi_extra=_stream(),
)
async def stream_feedback(request: Request) -> Response:
    """NDJSON of any length, one event a line; a bad line is one entry of `rejected`.

    While the log is full the service stops reading. A body that is cut keeps its complete lines.
    """
    sender = Sender(request.scope, idempotency_key(request.scope))
    media_type(
        request,
        "application/x-ndjson",
        "application/ndjson",
        "application/jsonl",
        "application/json",
    )
    state, request_id = request.app.state, request.scope["request_id"]
    upload = Upload(state.intake, state.settings, sender)
    try:
        await upload.run(request.receive)
    except ServiceError as error:
        return of_service_error(request_id, error, **_safe(upload))
    except HTTPException as error:
        return of_http_exception(request_id, error, **_safe(upload))
    summary = upload.summary()
    if summary.rejected_total and not summary.accepted:
        return _nothing_accepted(request, msgspec.to_builtins(summary))
    return Response(_encode(summary), 202, media_type="application/json")


def _safe(upload: Upload) -> dict[str, Any]:
    """Return how much is stored, so that the client can go on from there."""
    safe: dict[str, Any] = msgspec.to_builtins(upload.summary())
    return safe


async def _wait_learned(request: Request, intake: Intake, body: bytes, sender: Sender) -> Response:
    if request.query_params.get("wait") != "learned":
        raise InvalidEvent("`wait` can only be `learned`", code="invalid_request")
    state = request.scope["app"].state
    many = body.lstrip()[:1] == b"["
    events = _array(body, state.settings.max_array, intake) if many else [_event(body, intake)]
    with intake.counts.all_or_none(len(events)):
        if len(events) > MAX_AWAITED_ROWS:
            raise TooLarge(
                f"wait=learned takes at most {MAX_AWAITED_ROWS} rows: send fewer, or do not wait"
            )
    accepted = await intake.accept(events, sender, awaited=True)
    if not many and accepted.rejected:
        only = accepted.rejected[0]
        raise InvalidEvent(only.detail, code=only.code)
    outcome = await intake.outcome(accepted, state.settings.wait_timeout_ms)
    return _written(request, accepted, outcome)


def _array(body: bytes, limit: int, intake: Intake) -> list[Feedback | Fault]:
    with intake.counts.all_or_none(1):
        return decode_array(body, limit)


def _event(body: bytes, intake: Intake) -> Feedback:
    try:
        return decode_one(body)
    except DECODE_ERRORS as error:
        code, detail = decode_fault(error)
        intake.counts.refused(code)
        raise InvalidEvent(detail, code=code) from None


def _written(request: Request, accepted: Accepted, outcome: Outcome | None = None) -> Response:
    written = accepted.written()
    if not written.accepted:
        return _nothing_accepted(request, msgspec.to_builtins(written))
    if outcome is not None:
        written.predictions, written.repeats = outcome
    status = 202 if outcome is None else 200
    return Response(_encode(written), status, media_type="application/json")


def _accepted(one: AcceptedOne) -> Response:
    told, token = _encode(one.warnings), one.token.encode()
    repeats = b',"repeats":[0]' if one.is_repeat else b""
    written = b'{"accepted":1,"rejected":[],"warnings":%b,"sequence":"%b"%b}'
    return Response(written % (told, token, repeats), 202, media_type="application/json")


def _nothing_accepted(request: Request, written: dict[str, Any]) -> Response:
    return problem(
        request.scope["request_id"],
        422,
        "nothing_accepted",
        "no row was accepted: `rejected` says why for each; an empty array is refused too",
        **written,
    )
