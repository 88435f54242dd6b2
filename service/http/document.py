"""The OpenAPI document: what holds for every route is added to what each says of itself.

The application passes in its table of roles, the schemas that FastAPI does not see, and examples
of answers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from service.http.auth import Roles
from service.http.codes import CODES
from service.http.documentation import CODES_OF, ITEM_SCHEMA, Json, problems, without_null
from service.http.routing import Route


@dataclass(frozen=True)
class About:
    """What the document says beyond the routes."""

    info: Mapping[str, Any]
    """Title, version and the other arguments of FastAPI's ``get_openapi``."""
    roles: Roles
    schemas: Callable[[], Json]
    """Makes the schemas that FastAPI does not see."""
    examples: Callable[[], Json]
    """Reads answers: by operation and status, and those of `problems` by code."""
    parameter_codes: Mapping[str, Iterable[str]] = field(default_factory=dict)
    """The codes of errors that a parameter can cause, by its name."""


def document(app: FastAPI, about: About) -> None:
    """Let ``app.openapi()`` return the complete document."""

    def openapi() -> Json:
        if not app.openapi_schema:
            app.openapi_schema = _document(app, about)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _document(app: FastAPI, about: About) -> Json:
    out = get_openapi(routes=app.routes, **about.info)
    schemas = out.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(about.schemas(), Problem=PROBLEM_SCHEMA)
    for framework in ("HTTPValidationError", "ValidationError"):
        schemas.pop(framework, None)
    out["components"]["securitySchemes"] = {
        "key": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "hr_<id>_<secret>",
            "description": "An API key. It is needed once the first key exists, and always "
            "if the service listens on an address other than loopback.",
        }
    }
    examples = about.examples()
    recorded = examples.get("problems", {})
    out["components"]["examples"] = {code: {"value": body} for code, body in recorded.items()}
    for route in app.routes:
        if isinstance(route, APIRoute) and route.include_in_schema:
            for method in route.methods or ():
                operation = out["paths"][route.path_format][method.lower()]
                _complete(operation, route, about.roles[method, route.path_format], about)
                _describe_good_answers(operation, schemas)
                _add_examples(operation, examples.get(operation["operationId"], {}), recorded)
    return out


def _complete(operation: Json, route: APIRoute, need: str, about: About) -> None:
    """Add to a route the role that it needs, and the problems that its kind and input can cause."""
    operation.pop("x-streams", None)
    operation["x-role"] = need
    codes = {"invalid_request", "internal"}
    if need != "open":
        operation["security"] = [{"key": []}]
        codes |= {"unauthorised", "forbidden", "store_unavailable", "store_rolled_back"}
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "query":
            codes.add("request_line_too_long")
        parameter["schema"] = without_null(parameter["schema"])
        codes.update(about.parameter_codes.get(parameter["name"], ()))
    if "requestBody" in operation:
        codes.update(_codes_of_body(route))
    responses = operation["responses"]
    for own in responses.values():
        codes.update(own.get(CODES_OF, ()))
    responses |= {str(status): one for status, one in problems(*codes).items()}
    operation["responses"] = dict(sorted(responses.items()))


def _codes_of_body(route: APIRoute) -> Iterable[str]:
    # a compressed body may be damaged, or unpack to too much
    packed = ("malformed_body", "too_large", "unsupported_media_type")
    return packed if isinstance(route, Route) and route.streams else ("malformed_json", *packed)


def _describe_good_answers(operation: Json, schemas: Json) -> None:
    """Let an answer without words of its own say what its schema says."""
    for status, response in operation["responses"].items():
        if not status.startswith("2"):
            continue
        for content in response["content"].values():
            if "itemSchema" in content:
                content[ITEM_SCHEMA] = content.pop("itemSchema")
                content["schema"] = {"type": "string"}
            name = content["schema"].get("$ref", "").rpartition("/")[2]
            if response["description"] == "Successful Response" and name:
                response["description"] = schemas[name]["description"]


def _add_examples(operation: Json, answers: Json, of_problems: Json) -> None:
    for status, response in operation["responses"].items():
        for content in response["content"].values():
            if status in answers:
                content["example"] = answers[status]
            codes = [code for code in response.get(CODES_OF, ()) if code in of_problems]
            if codes:
                content["examples"] = {
                    code: {"$ref": f"#/components/examples/{code}"} for code in codes
                }


def _member(kind: str, description: str, **more: Any) -> Json:
    return {"type": kind, "description": description, **more}


_REJECTED = {
    "type": "object",
    "required": ["index", "code", "detail"],
    "properties": {
        "index": _member("integer", "The number of the row, from 0."),
        "line": _member("integer", "The number of the line, from 1, as editors count."),
        "code": _member("string", "The error code, for programs."),
        "detail": _member("string", "The explanation for people: what is wrong and what to do."),
    },
}
_FAULT = {
    "type": "object",
    "required": ["field", "detail"],
    "properties": {
        "field": _member("string", "The path of the field."),
        "detail": _member("string", "What the field must be."),
    },
}
PROBLEM_SCHEMA: Json = {
    "type": "object",
    "title": "Problem",
    "description": "What went wrong and what to do (RFC 9457).",
    "required": ["type", "title", "status", "code", "detail", "request_id"],
    "properties": {
        "type": _member("string", "A page here that says what the code means and what to do."),
        "title": _member("string", "The words of the status."),
        "status": _member("integer", "The status of the answer."),
        "code": _member("string", "The error code, for programs.", enum=sorted(CODES)),
        "detail": _member("string", "The explanation for people: what is wrong and what to do."),
        "request_id": _member("string", "Names the request in the log of the service."),
        "retry_after": _member("integer", "Seconds to wait; only where a retry helps."),
        "errors": _member(
            "array", "Each fault of a request with the path of its field.", items=_FAULT
        ),
        "missing": _member(
            "array", "With `not_ready`: what the process waits for.", items={"type": "string"}
        ),
        "accepted": _member("integer", "For a write of many rows: how many rows are stored."),
        "rejected": _member(
            "array", "For a write of many rows: the rows that are not stored.", items=_REJECTED
        ),
        "rejected_total": _member("integer", "How many rows are not stored."),
        "warnings": _member(
            "array",
            "For a write of many rows: stored rows in which something has no effect.",
            items=_REJECTED,
        ),
        "warnings_total": _member("integer", "How many rows have warnings."),
        "lines": _member("integer", "Lines of the body, empty ones included."),
        "sequence": _member("string", "The place of the stored rows in the order of events."),
    },
}
