"""The OpenAPI document: how raw routes describe themselves, and what holds for every route.

The application passes in its table of roles and the schemas that FastAPI does not see.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from service.http.auth import Roles
from service.http.problems import CODES, MEDIA_TYPE

Json = dict[str, Any]


def reference(name: str) -> Json:
    """Return the reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def parameter(name: str, where: str, description: str, schema: Json) -> Json:
    """Describe one parameter of a raw route."""
    return {
        "name": name,
        "in": where,
        "required": False,
        "description": description,
        "schema": schema,
    }


def json_body(schema: Json, **examples: Any) -> Json:
    """Describe a JSON body."""
    named = {name: {"value": example} for name, example in examples.items()}
    return {
        "required": True,
        "content": {"application/json": {"schema": schema, "examples": named}},
    }


def ndjson_body(name: str, example: Any) -> Json:
    """Describe an NDJSON body whose lines are ``name``."""
    lines = msgspec.json.encode(example).decode() + "\n"
    content = {"schema": {"type": "string"}, "itemSchema": reference(name), "example": lines}
    return {"required": True, "content": {"application/x-ndjson": content}}


def problems(*statuses: int) -> dict[int | str, Json]:
    """Describe the problems that a route answers with."""
    return {
        status: {
            "description": ", ".join(code for code, (usual, _) in CODES.items() if usual == status),
            "content": {MEDIA_TYPE: {"schema": reference("Problem")}},
        }
        for status in statuses
    }


def answers(
    schemas: Mapping[int, str], problem_statuses: Iterable[int], says: Mapping[int, str]
) -> Json:
    """Describe the answers of a raw route."""
    good = {
        str(status): {
            "description": says[status],
            "content": {"application/json": {"schema": reference(name)}},
        }
        for status, name in schemas.items()
    }
    return good | {str(status): one for status, one in problems(*problem_statuses).items()}


PROBLEM_SCHEMA: Json = {
    "type": "object",
    "title": "Problem",
    "description": "What went wrong and what to do (RFC 9457).",
    "required": ["type", "title", "status", "code", "detail", "request_id"],
    "properties": {
        "type": {"type": "string", "const": "about:blank"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "enum": sorted(CODES)},
        "detail": {"type": "string"},
        "request_id": {"type": "string"},
        "retry_after": {
            "type": "integer",
            "description": "Seconds to wait; only where a retry helps.",
        },
        "errors": {
            "type": "array",
            "description": "Each fault of a request with the path of its field.",
            "items": {
                "type": "object",
                "required": ["field", "detail"],
                "properties": {"field": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
    },
}


def document(app: FastAPI, roles: Roles, schemas: Callable[[], Json]) -> None:
    """Complete ``app.openapi()``: add ``schemas`` of raw routes, the problems and the roles."""

    def openapi() -> Json:
        if not app.openapi_schema:
            app.openapi_schema = _document(app, roles, schemas())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _document(app: FastAPI, roles: Roles, schemas: Json) -> Json:
    out = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    components = out.setdefault("components", {})
    components.setdefault("schemas", {}).update(schemas, Problem=PROBLEM_SCHEMA)
    for framework in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(framework, None)
    components["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "bearerFormat": "hr_<id>_<secret>"}
    }
    for path, operations in out["paths"].items():
        for method, operation in operations.items():
            _complete(operation, roles[method.upper(), path])
    return out


def _complete(operation: Json, need: str) -> None:
    """Add to a route the role it needs and the problems that any request can cause."""
    operation.pop("x-streams", None)
    operation["x-role"] = need
    common = [422, 500]
    if need != "open":
        operation["security"] = [{"key": []}]
        common += [401, 403, 503]
    responses = operation["responses"]
    responses |= {str(status): one for status, one in problems(*common).items()}
    operation["responses"] = dict(sorted(responses.items()))
