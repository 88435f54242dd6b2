"""Changes of documents by JSON Merge Patch, and the schemas of such patches."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, RootModel, ValidationError

from service.api.catalogue.schemas import ItemBody, UserBody, stored

_NULL = {"type": "null"}


def _as_patch(of: type[BaseModel], schema: dict[str, Any]) -> None:
    """Let the schema of a patch have the members of the document, each of which may be null."""
    whole = of.model_json_schema()
    members = _inlined(whole["properties"], whole.get("$defs", {}))
    features = members["features"]
    features["additionalProperties"] = _or_null(features["additionalProperties"])
    schema.pop("additionalProperties", None)
    schema["properties"] = {
        name: {"description": member.pop("description"), **_or_null(member)}
        for name, member in members.items()
    }


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    kinds = schema.get("anyOf", [{name: schema[name] for name in schema if name != "default"}])
    return {"anyOf": [*(kind for kind in kinds if kind != _NULL), _NULL]}


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a schema with definitions in the place of references to them."""
    if isinstance(schema, list):
        return [_inlined(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {name: _inlined(one, definitions) for name, one in schema.items()}


class ItemPatch(RootModel[dict[str, Any]]):
    """A JSON Merge Patch (RFC 7396) of an item: a value replaces the old one, null removes it."""

    model_config = ConfigDict(json_schema_extra=partial(_as_patch, ItemBody))


class UserPatch(RootModel[dict[str, Any]]):
    """A JSON Merge Patch (RFC 7396) of a user: a value replaces the old one, null removes it."""

    model_config = ConfigDict(json_schema_extra=partial(_as_patch, UserBody))


def patched(
    model: type[BaseModel], old: dict[str, Any] | None, patch: dict[str, Any]
) -> dict[str, Any]:
    """Return a stored document after a patch; RequestValidationError if it would be none."""
    try:
        return stored(model.model_validate(merged(old or {}, patch)))
    except ValidationError as error:
        faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()]
        raise RequestValidationError(faults) from None


def merged(old: Any, patch: Any, depth: int = 4) -> Any:
    """Return ``old`` after a JSON Merge Patch [RFC 7396]; no document is as deep as ``depth``.

    >>> merged({"a": 1, "b": {"c": 2}}, {"a": None, "b": {"d": 3}})
    {'b': {'c': 2, 'd': 3}}
    """
    if not isinstance(patch, dict) or not depth:
        return patch
    out = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            out.pop(name, None)
        else:
            out[name] = merged(out.get(name), value, depth - 1)
    return out
