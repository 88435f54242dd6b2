"""What the OpenAPI document promises of an answer: status, content type, error code, and schema."""

import json
import re
from functools import lru_cache
from typing import Any

import httpx
import jsonschema_rs

from service.http.problems import MEDIA_TYPE
from tests.openapi.document import DOCUMENT, OPERATIONS, Operation

_SHAPES = [
    (one.method, re.compile(re.sub(r"\{\w+\}", "[^/]*", one.path)), one)
    # a path without ids comes before one with an id in the same place
    for one in sorted(OPERATIONS, key=lambda one: one.path.count("{"))
]


def operation_of(request: httpx.Request) -> Operation | None:
    """Return the operation that answers a request; None if there is none."""
    path = request.url.raw_path.decode().partition("?")[0]
    for method, shape, operation in _SHAPES:
        if method == request.method and shape.fullmatch(path):
            return operation
    return None


def broken_promise(answer: httpx.Response) -> str | None:
    """Return what an answer has that the document does not promise; None if it promises all."""
    operation = operation_of(answer.request)
    if operation is None:
        return None
    promised = operation.says["responses"].get(str(answer.status_code))
    kind = answer.headers["content-type"].partition(";")[0]
    if promised is None or kind not in promised["content"]:
        return f"{operation.id} does not promise {answer.status_code} {kind}: {answer.text}"
    if kind == MEDIA_TYPE and answer.json()["code"] not in promised["x-codes"]:
        return f"{operation.id} does not promise the code of {answer.text}"
    body = answer.json() if kind in {"application/json", MEDIA_TYPE} else answer.text
    fault = unlike(promised["content"][kind]["schema"], body)
    return fault and f"{operation.id} {answer.status_code}: {fault}"


def unlike(schema: dict[str, Any], value: Any) -> str | None:
    """Return where a value is not as a schema of the document says; None if it is."""
    fault = next(_validator(json.dumps(schema)).iter_errors(value), None)
    return None if fault is None else f"{fault.message} at {fault.instance_path}"


@lru_cache
def _validator(schema: str) -> Any:
    whole = json.loads(schema) | {"components": DOCUMENT["components"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
