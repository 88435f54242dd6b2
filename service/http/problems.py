"""Errors as RFC 9457 problems: one shape, one table of codes.

Problems repeat nothing of a request but names of fields.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from service.errors import ServiceError
from service.http.faults import of_pydantic

MEDIA_TYPE = "application/problem+json"

CODES: dict[str, tuple[int, str]] = {
    "malformed_body": (400, "the body is not what its content type says"),
    "unauthorised": (401, "no API key, or one that is unknown or revoked"),
    "forbidden": (403, "the key's role is not enough for this route"),
    "not_found": (404, "no such path, user, item, rating or key"),
    "method_not_allowed": (405, "the path exists, this method does not"),
    "version_conflict": (409, "the thing changed meanwhile: read it and try again"),
    "model_pinned": (409, "another version is pinned: unpin it first"),
    "no_earlier_version": (409, "no earlier version is left to go back to: promote one"),
    "conflict": (409, "the thing is in a state that does not allow it; the detail says what does"),
    "cursor_expired": (410, "the model of the list serves no more: begin again without the cursor"),
    "too_large": (413, "body, line, array or document beyond its bound"),
    "unsupported_media_type": (415, "the content type is not the one that the route reads"),
    "invalid_request": (422, "a parameter or a field is unknown, missing or of the wrong type"),
    "invalid_id": (422, "an id is empty, too long, not UTF-8 or holds control characters"),
    "invalid_event": (422, "a row of feedback cannot be accepted"),
    "malformed_json": (422, "the body is not JSON"),
    "out_of_scale": (422, "the rating lies outside the scale, or is not a finite number"),
    "unknown_kind": (422, "the kind of feedback is not in the table of the settings"),
    "nothing_accepted": (422, "no row of the request was accepted; see `rejected`"),
    "item_limit": (422, "the namespace has given out all its item numbers"),
    "line_too_long": (422, "a line of an NDJSON body beyond its bound"),
    "invalid_filter": (422, "the filter cannot be read; `detail` says where"),
    "invalid_cursor": (422, "the cursor belongs to another list or was changed"),
    "invalid_sequence": (422, "the sequence is not one that an answer held"),
    "invalid_document": (422, "a document of the catalogue cannot be accepted"),
    "invalid_schedule": (422, "a condition of the schedule cannot be read"),
    "invalid_training": (422, "there is no such model to train, or it has no such setting"),
    "internal": (500, "a bug: tell us the request id"),
    "backlogged": (503, "the log is full: try again"),
    "not_ready": (503, "starting, or not learned yet: try again"),
    "sequence_not_reached": (503, "min_sequence has not been learned in time: try again"),
    "store_unavailable": (503, "Redis does not answer: try again"),
}
"""Every code of an answer or a rejected row: its status as a whole answer, and its meaning."""

_CODE_OF_STATUS = {
    400: "malformed_body",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
}
_DETAIL_OF_STATUS = {
    404: "no such path: see /docs for all of them",
}
"""Messages that say more than those of the framework."""


def problem(
    request_id: str,
    status: int,
    code: str,
    detail: str,
    *,
    retry_after: int | None = None,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """Return the response for a problem; ``more`` are its extension members."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        "request_id": request_id,
    }
    out = dict(headers or {})
    if retry_after is not None:
        body["retry_after"] = retry_after
        out["retry-after"] = str(retry_after)
    # ASCII only: a field name may hold a lone surrogate, which UTF-8 cannot
    return Response(json.dumps(body | more), status, out, media_type=MEDIA_TYPE)


def of_service_error(request_id: str, error: ServiceError, **more: Any) -> Response:
    """Return the response for an error that was raised on purpose."""
    headers = {"www-authenticate": "Bearer"} if error.status == HTTPStatus.UNAUTHORIZED else None
    return problem(
        request_id,
        error.status,
        error.code,
        error.detail,
        retry_after=error.retry_after_s,
        headers=headers,
        **more,
    )


def answer(request_id: str, error: Exception) -> Response | None:
    """Return the response for an error of ours or of the framework; None for any other."""
    if isinstance(error, ServiceError):
        return of_service_error(request_id, error)
    if isinstance(error, RequestValidationError):
        return _of_validation_error(request_id, error)
    if isinstance(error, HTTPException):
        return _of_http_exception(request_id, error)
    return None


def unforeseen(request_id: str) -> Response:
    """Return the response for a bug."""
    detail = "something unforeseen happened; the service's log knows it by the request id"
    return problem(request_id, 500, "internal", detail)


def _of_http_exception(request_id: str, error: HTTPException) -> Response:
    """Return the response for an unknown path or method, or an unreadable body."""
    code = _CODE_OF_STATUS.get(error.status_code, "invalid_request")
    detail = _DETAIL_OF_STATUS.get(error.status_code, error.detail)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        detail = f"this method is not offered here; {(error.headers or {}).get('Allow', 'none')} is"
    return problem(request_id, error.status_code, code, detail, headers=error.headers)


def _of_validation_error(request_id: str, error: RequestValidationError) -> Response:
    """Return the response for values that do not fit their schema, with the path of each."""
    # an id in the path is parsed once for each dependency, and reported as often
    told = dict.fromkeys(map(of_pydantic, error.errors()))
    faults = [{"field": field, "detail": detail} for field, detail in told]
    detail = "; ".join(f"{fault['field']}: {fault['detail']}" for fault in faults[:3])
    malformed = any(fault["type"] == "json_invalid" for fault in error.errors())
    code = "malformed_json" if malformed else "invalid_request"
    return problem(request_id, 422, code, detail, errors=faults)
