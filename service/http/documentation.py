"""How routes describe themselves in the OpenAPI document; ``document.py`` completes the rest."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from service.http.codes import CODES
from service.http.problems import MEDIA_TYPE

Json = dict[str, Any]

ITEM_SCHEMA = "x-item-schema"
"""The schema of each line of a body or an answer; OpenAPI 3.1 has no word of its own for it."""
CODES_OF = "x-codes"
"""The codes of an answer: those of the errors of a route that have its status."""


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


def without_null(schema: Json) -> Json:
    """Return a schema without its description and without null, which a query cannot express."""
    out = {name: value for name, value in schema.items() if name not in {"description", "default"}}
    if schema.get("default") is not None and schema["default"] != "":
        out["default"] = schema["default"]
    kinds = [kind for kind in out.pop("anyOf", []) if kind != {"type": "null"}]
    return {**kinds[0], **out} if kinds else out


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
    # of any length: generated clients send a file
    schema = {"type": "string", "format": "binary"}
    content = {"schema": schema, ITEM_SCHEMA: reference(name), "example": lines}
    return {"required": True, "content": {"application/x-ndjson": content}}


def rows_body(name: str, example: Any, *, most: int = 10_000) -> Json:
    """Describe a body of rows ``name``: lines of NDJSON, or JSON: one row or an array."""
    body = ndjson_body(name, example)
    array = {"type": "array", "items": reference(name), "maxItems": most}
    one_or_many = {"oneOf": [reference(name), array]}
    body["content"]["application/json"] = {"schema": one_or_many, "example": [example]}
    return body


def problems(*codes: str) -> dict[int | str, Json]:
    """Describe the problems with these codes, by status; those that follow from the parameters, the
    body and the role of a route are added to each."""
    by_status: dict[int | str, list[str]] = {}
    for code in sorted(codes):
        by_status.setdefault(CODES[code].status, []).append(code)
    return {status: _problem(named) for status, named in by_status.items()}


def _problem(codes: Iterable[str]) -> Json:
    return {
        "description": "\n".join(f"- `{code}`: {CODES[code].meaning}" for code in codes),
        "content": {MEDIA_TYPE: {"schema": reference("Problem")}},
        CODES_OF: [*codes],
    }


def answers(schemas: Mapping[int, str], says: Mapping[int, str], *codes: str) -> Json:
    """Describe the answers of a raw route: good ones by status, and the codes of its problems."""
    good = {
        str(status): {
            "description": says[status],
            "content": {"application/json": {"schema": reference(name)}},
        }
        for status, name in schemas.items()
    }
    return good | {str(status): one for status, one in problems(*codes).items()}
