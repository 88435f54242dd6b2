"""Lets schemathesis send bodies of lines: what it generates is sent as it is."""

import json
from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def as_it_is(context: schemathesis.SerializationContext, value: Any) -> Any:
    """Return the body."""
    if isinstance(value, bytes):
        return value
    # schemathesis holds bytes in a string that has them as `data`
    text = value if isinstance(value, str) else json.dumps(value)
    return getattr(value, "data", text.encode(errors="replace"))
