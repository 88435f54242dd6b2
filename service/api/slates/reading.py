"""Reads queries and bodies into the records of ``requests.py``, and describes queries."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeVar, cast
from urllib.parse import parse_qsl

import msgspec
from fastapi.exceptions import RequestValidationError
from msgspec import Struct
from pydantic import TypeAdapter, ValidationError

from service.api.feedback.schemas import DECODE_ERRORS, decode_fault
from service.api.schemas import Features
from service.errors import InvalidEvent, InvalidId
from service.http.documentation import without_null
from service.http.faults import of_msgspec
from service.ids import ID_LENGTHS, id_fault, is_id

Q = TypeVar("Q", bound=Struct)
Json = dict[str, Any]

_FEATURES: TypeAdapter[Json] = TypeAdapter(Features)


def read_query(query: bytes, wanted: type[Q]) -> Q:
    """Return the parameters of a query; RequestValidationError names the first invalid one."""
    if not query:
        return wanted()
    given: dict[str, str] = {}
    for name, value in _pairs(query.decode("latin-1")):
        if name in given:
            refuse("query", name, "give the parameter once")
        given[name] = value
    try:
        return _null_as_text(msgspec.convert(given, wanted, strict=False), given)
    except msgspec.ValidationError as error:
        known = wanted.__struct_fields__
        for name in given:
            if name not in known:
                names = ", ".join(sorted(known))
                refuse("query", name, f"this route has no such parameter; allowed are: {names}")
        _refuse("query", error, wanted)


def _null_as_text(read: Q, given: Mapping[str, str]) -> Q:
    """Read the word `null` as a text: the parser took it for nothing, but it may be a category."""
    words = {name: value for name, value in given.items() if getattr(read, name) is None}
    if not words:
        return read
    exact = msgspec.convert(words, type(read))
    return msgspec.structs.replace(read, **{name: getattr(exact, name) for name in words})


def _pairs(query: str) -> list[tuple[str, str]]:
    if "%" in query or "+" in query:
        return parse_qsl(query, keep_blank_values=True)
    # same as parse_qsl where nothing is escaped, in a tenth of the time
    parts = (part.partition("=") for part in query.split("&") if part)
    return [(name, value) for name, _, value in parts]


def read_json(body: bytes, wanted: type[Q]) -> Q:
    """Return a JSON body; RequestValidationError or InvalidEvent (malformed JSON) if it is none."""
    try:
        return msgspec.json.decode(body, type=wanted)
    except msgspec.ValidationError as error:
        _refuse("body", error, wanted)
    except DECODE_ERRORS as error:
        code, detail = decode_fault(error)
        raise InvalidEvent(detail, code=code) from None


def names(text: str) -> list[str]:
    """Return the names in a comma-separated list."""
    return text.split(",") if text else []


def checked_ids(field: str, ids: Sequence[str]) -> Sequence[str]:
    """Return the ids; raise InvalidId if one is invalid."""
    for position, one in enumerate(ids):
        if not is_id(one):
            raise InvalidId(id_fault(f"{field}[{position}]", one))
    return ids


def checked_features(features: Json | None) -> Json | None:
    """Return features that a user's document could hold; RequestValidationError for others."""
    if features is None:
        return None
    try:
        return _FEATURES.validate_python(features, strict=True)
    except ValidationError as error:
        faults = [{**one, "loc": ("body", "features", *one["loc"])} for one in error.errors()]
        raise RequestValidationError(faults) from None


def refuse(where: str, field: str, detail: str) -> NoReturn:
    """Raise RequestValidationError for one parameter or member."""
    raise RequestValidationError([{"type": "value_error", "loc": (where, field), "msg": detail}])


def _refuse(where: str, error: msgspec.ValidationError, wanted: type[Struct]) -> NoReturn:
    field, words = of_msgspec(error, wanted)
    if where == "query":
        # every value in a query is a string, and 1 is read as true
        words = words.removesuffix(", not a string")
        words = words.replace("true or false", "true or false (1 or 0)")
        words = words if words != "must be a number" else f"{words}, such as 0.5"
    fault = {"type": "value_error", "loc": (where, field) if field else (where,), "msg": words}
    raise RequestValidationError([fault])


def path_parameter(name: str, example: str) -> Json:
    """Describe an id in the path."""
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": f"The {name}'s id, percent-encoded.",
        "schema": {"type": "string", **ID_LENGTHS},
        "example": example,
    }


def parameters(query: type[Struct]) -> list[Json]:
    """Describe the parameters of a query for the OpenAPI document."""
    _, schemas = msgspec.json.schema_components([query], ref_template="{name}")
    properties = cast("Mapping[str, Json]", schemas[query.__name__]["properties"])
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": schema.get("description", ""),
            "schema": without_null(schema),
        }
        for name, schema in properties.items()
    ]
