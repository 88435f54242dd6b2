"""Errors as RFC 9457 problems: one shape; ``codes.py`` has the codes.

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

PAGE = "/docs/errors"
"""Where each code has a paragraph, under an anchor of its name."""

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
        "type": f"{PAGE}#{code}",
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
