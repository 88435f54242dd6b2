"""Errors as RFC 9457 problems: one shape, one table of codes.

Problems repeat nothing from a request except names of fields.
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
    "malformed_request": (400, "what arrived is not HTTP/1.1"),
    "malformed_body": (400, "the body is not what its content type says"),
    "unauthorised": (401, "there is no API key, or it is unknown, revoked or expired"),
    "forbidden": (403, "the key's role is not enough for this route"),
    "foreign_origin": (403, "a page of another site may not write"),
    "not_found": (404, "no such path, user, item, rating, job, model or key"),
    "method_not_allowed": (405, "the path exists, but not with this method"),
    "version_conflict": (409, "the document or schedule has changed: read it and try again"),
    "model_pinned": (409, "another version is pinned: unpin it first"),
    "no_earlier_version": (409, "there is no earlier version to go back to: promote one"),
    "idempotency_key_reused": (409, "this key came before, with another body: give a new one"),
    "conflict": (409, "the current state does not allow this; `detail` says which state would"),
    "cursor_expired": (410, "the list's model no longer serves: begin again without the cursor"),
    "too_slow": (408, "the request did not arrive in time"),
    "too_large": (413, "the body, line, array or document exceeds its bound"),
    "request_line_too_long": (414, "the path and the query are longer than the bound"),
    "unsupported_media_type": (415, "the route does not read this content type"),
    "untrusted_host": (421, "the header Host names none of the service's names"),
    "upgrade_required": (426, "this path is a WebSocket: the request must ask for the upgrade"),
    "invalid_request": (422, "a parameter or a field is unknown, missing or of the wrong type"),
    "invalid_id": (422, "an id is empty, too long, not UTF-8 or holds control characters"),
    "invalid_event": (422, "a row of feedback cannot be accepted"),
    "malformed_json": (422, "the body is not JSON"),
    "out_of_scale": (422, "the rating lies outside the scale, or is not a finite number"),
    "future_timestamp": (422, "the event is dated too far ahead (`HEDGEROW_FUTURE_TOLERANCE_S`)"),
    "unknown_kind": (422, "this kind of feedback is not in the settings"),
    "nothing_accepted": (422, "no row of the request was accepted; see `rejected`"),
    "item_limit": (422, "the namespace has no item numbers left (`HEDGEROW_MAX_ITEMS`)"),
    "line_too_long": (422, "a line of an NDJSON body exceeds its bound"),
    "invalid_filter": (422, "the filter cannot be read; `detail` says where"),
    "invalid_cursor": (422, "the cursor belongs to another list or was changed"),
    "invalid_sequence": (422, "no answer ever held this sequence"),
    "invalid_document": (422, "a document of an item or user cannot be accepted"),
    "invalid_schedule": (422, "a condition of the schedule cannot be read"),
    "invalid_training": (422, "there is no such recipe, or it has no such setting"),
    "headers_too_large": (431, "the headers are longer than the bound"),
    "rate_limited": (429, "too many requests in a short time: try again after `retry_after`"),
    "internal": (500, "a bug: please report the request id"),
    "backlogged": (503, "the log is full: try again after `retry_after`"),
    "not_ready": (503, "the service is starting, or has not learned this yet: try again"),
    "sequence_not_reached": (503, "`min_sequence` was not learned in time: try again"),
    "too_many_connections": (503, "a bound on connections is reached: try again"),
    "overloaded": (503, "the bodies of other requests fill the room for them: try again"),
    "store_unavailable": (503, "Redis does not answer: try again"),
    "store_rolled_back": (503, "the store has lost what the service knew of; nothing was written"),
}
"""Every error code: the status of an answer with this code, and its meaning."""

_CODE_OF_STATUS = {
    400: "malformed_body",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    426: "upgrade_required",
}
_DETAIL_INSTEAD_OF = {
    "There was an error parsing the body": "the body cannot be read: send JSON in UTF-8, "
    "without very many levels of brackets",
    "Not Found": "no such path: /docs lists all paths",
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
    if isinstance(error, HTTPException) and isinstance(error.__cause__, ServiceError):
        # raised while the framework read the body
        return of_service_error(request_id, error.__cause__)
    if isinstance(error, HTTPException):
        return of_http_exception(request_id, error)
    return None


def unforeseen(request_id: str) -> Response:
    """Return the response for a bug."""
    detail = "an unexpected error occurred; the service's log has it under the request id"
    return problem(request_id, 500, "internal", detail)


def of_http_exception(request_id: str, error: HTTPException, **more: Any) -> Response:
    """Return the response for an unknown path or method, or an unreadable body."""
    headers = dict(error.headers or {})
    code = _CODE_OF_STATUS.get(error.status_code, "invalid_request")
    detail = _DETAIL_INSTEAD_OF.get(error.detail, error.detail)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # where GET is, HEAD is too: see the edge
        headers["Allow"] = ", ".join(_with_head(headers.get("Allow", "").split(", ")))
        detail = f"this method is not allowed here, only {headers['Allow']}"
    return problem(request_id, error.status_code, code, detail, headers=headers, **more)


def _with_head(methods: list[str]) -> list[str]:
    return sorted({*methods, "HEAD"} if "GET" in methods else methods)


def _of_validation_error(request_id: str, error: RequestValidationError) -> Response:
    """Return the response for values that do not fit their schema, with the path of each."""
    # an id in the path is parsed once for each dependency, and reported as often
    distinct = dict.fromkeys(map(of_pydantic, error.errors()))
    faults = [{"field": field, "detail": detail} for field, detail in distinct]
    detail = "; ".join(f"{fault['field']}: {fault['detail']}" for fault in faults[:3])
    malformed = any(fault["type"] == "json_invalid" for fault in error.errors())
    code = "malformed_json" if malformed else "invalid_request"
    return problem(request_id, 422, code, detail, errors=faults)
