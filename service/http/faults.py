"""Messages about invalid fields: each says what the field must be, and follows the field's name.

They replace the messages of the parsers: errors of pydantic are recognised by their type, errors
of msgspec by their text.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec
from msgspec import Meta, Struct

MOST = 500
"""Maximum length of a message in characters: names in it may be long."""

JOB_ID, KEY_ID = r"^[0-9a-f]{16}$", r"^[0-9a-f]{12}$"
ERASURE_ID, WEBHOOK_ID = r"^[0-9a-f]{20}$", r"^[0-9a-f]{10}$"
NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"
SLUG = r"^[a-z0-9][a-z0-9-]{0,47}$"
ETAG = r'^"?[0-9]{1,15}"?$'
PAIR = r"^([A-Za-z_][A-Za-z0-9_]{0,63}=[^\x00-\x1f\x7f-\x9f]{1,64})?$"
PATTERNS = {
    JOB_ID: "must be the `id` of a job, 16 digits of 0-9 and a-f: GET /v1/jobs lists them",
    KEY_ID: "must be the `id` of a key, 12 digits of 0-9 and a-f: GET /v1/admin/keys lists them",
    ERASURE_ID: "must be the `erasure` of a deleted user, 20 digits of 0-9 and a-f",
    WEBHOOK_ID: "must be the `id` of a webhook, 10 digits of 0-9 and a-f: GET /v1/webhooks lists "
    "them",
    NAME: "must be a name: a letter or _ first, then letters, digits and _, at most 64 in all",
    SLUG: "must be a name of small letters, digits and -, at most 48 in all: more-variety",
    PAIR: "must be a name and a text of a context, such as device=phone",
    ETAG: "must be a version in quotes, the `ETag` of an answer",
}
"""A message for each regular expression of the schemas."""

_WHOLE, _NUMBER, _TRUTH = "must be a whole number", "must be a number", "must be true or false"
_TEXT, _LIST, _OBJECT = "must be a string", "must be a list", "must be an object"

PYDANTIC = {
    "missing": "is missing",
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "int_parsing_size": _WHOLE + " with fewer digits",
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": "must be a finite number",
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "string_type": _TEXT,
    "string_unicode": "must be a string without lone surrogates",
    "list_type": _LIST,
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "json_invalid": "is not JSON: {error}; send one complete value, "
    "with all its brackets and quotes closed",
}
"""Messages by the type of pydantic's error, with fields of its context in braces."""

A_TIME = (
    "a time: RFC 3339 with an offset, 2026-11-18T12:00:00Z, "
    "or a number of Unix seconds or milliseconds"
)
_NAMES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a string",
    "null": "null",
    "array": "a list",
    "object": "an object",
    "datetime": A_TIME,
}
MSGSPEC: Sequence[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), words)
    for pattern, words in (
        (r"Object missing required field `(.+)`", "is missing"),
        (r"Expected `(?P<kind>[\w |]+)`, got `(?P<got>\w+)`", "must be {kind}, not {got}"),
        (r"Expected `(int|float)` >= (?P<n>\S+)", "must be at least {n}"),
        (r"Expected `(int|float)` <= (?P<n>\S+)", "must be at most {n}"),
        (r"Expected `str` of length >= 1$", "must not be empty"),
        (r"Expected `str` of length <= (?P<n>\d+)", "must have at most {n} characters"),
        (r"Expected `(array|object)` of length >= 1$", "must not be empty"),
        (r"Expected `(array|object)` of length <= (?P<n>\d+)", "must have at most {n} entries"),
        (r"Expected `datetime` with a timezone", f"must be {_NAMES['datetime']}"),
        (r"Invalid RFC3339", f"must be {_NAMES['datetime']}"),
        (r"(Number|Integer value) out of range", "must be a smaller number"),
    )
]
"""Messages by the text of msgspec's error."""
_FIELD = re.compile(r"Object (?:missing required|contains unknown) field `(.+)`", re.DOTALL)


def unknown(known: Sequence[str]) -> str:
    """Return the message for an unknown field; ``known`` are those that exist."""
    return f"is unknown; allowed are: {', '.join(sorted(known)) or 'none'}"


def of_pydantic(fault: Mapping[str, Any]) -> tuple[str, str]:
    """Return the path of the field and the message."""
    path = [str(step) for step in fault["loc"] if step != "[key]"]
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "json_invalid":
        # the position of the character follows the body
        return path[0] if path else "body", PYDANTIC[kind].format(**context)
    return ".".join(path), _bounded(_of_kind(kind, fault["msg"], context))


def _of_kind(kind: str, message: str, context: Mapping[str, Any]) -> str:
    if kind == "string_pattern_mismatch":
        return PATTERNS.get(context["pattern"], message)
    if context.get("min_length") == 1:
        return "must not be empty"
    words = PYDANTIC.get(kind)
    return message.removeprefix("Value error, ") if words is None else words.format(**context)


def of_msgspec(error: Exception, wanted: type[Struct]) -> tuple[str, str]:
    """Return the path of the field below ``wanted`` ("" for the whole value) and the message."""
    text, _, path = str(error).partition(" - at `$")
    steps = [step for step in re.split(r"[.\[\]]+", path.rstrip("`")) if step]
    if named := _FIELD.match(text):
        steps.append(named[1])
    if text.startswith("Object contains unknown"):
        return _bounded(".".join(steps)), unknown(_struct_at(wanted, steps[:-1]).__struct_fields__)
    if text.startswith("Invalid enum value"):
        choices = _choices(_annotation(wanted, steps[0])) if steps else ()
        return ".".join(steps), f"must be one of {', '.join(map(str, choices))}"
    if path.endswith("[...]`"):
        # a value of an object with names of the client's own: msgspec does not say which
        steps.append("*")
    bounds = _bounds(_annotation(wanted, steps[0])) if len(steps) == 1 else None
    if bounds and re.match(r"Expected `\w+` [<>]=", text):
        return steps[0], f"must be from {bounds[0]} to {bounds[1]}"
    return _bounded(".".join(steps)), _bounded(_of_text(text))


def _of_text(text: str) -> str:
    for pattern, words in MSGSPEC:
        if match := pattern.match(text):
            groups = match.groupdict()
            if "kind" in groups:
                groups |= {"kind": _named(groups["kind"]), "got": _named(groups["got"])}
            return words.format(**groups)
    return text


def _named(kinds: str) -> str:
    """Return types as words: `float | null`."""
    return " or ".join(_NAMES.get(kind, kind) for kind in kinds.split(" | "))


def _struct_at(kind: type[Struct], steps: Sequence[str]) -> type[Struct]:
    """Return the struct at a path below ``kind``, or the last one on the way there."""
    for step in steps:
        if step in kind.__struct_fields__:
            kind = _struct_in(_annotation(kind, step)) or kind
    return kind


def _annotation(kind: type[Struct], name: str) -> Any:
    return next((f.type for f in msgspec.structs.fields(kind) if f.encode_name == name), None)


def _struct_in(annotation: Any) -> type[Struct] | None:
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return annotation
    return next(filter(None, map(_struct_in, get_args(annotation))), None)


def _choices(annotation: Any) -> Sequence[Any]:
    """Return the literals of an annotation."""
    if isinstance(annotation, str):
        return [annotation]
    return [one for part in get_args(annotation) for one in _choices(part)]


def _bounds(annotation: Any) -> tuple[Any, Any] | None:
    """Return the least and the most that a number may be, if there are both."""
    for part in get_args(annotation):
        if isinstance(part, Meta) and part.ge is not None and part.le is not None:
            return part.ge, part.le
        if found := _bounds(part):
            return found
    return None


def _bounded(text: str) -> str:
    """Cut what is long; a field name may hold lone surrogates."""
    return text[:MOST].encode(errors="replace").decode()
