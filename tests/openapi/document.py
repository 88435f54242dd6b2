"""The committed OpenAPI document, read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

COMMITTED = Path(__file__).parents[2] / "openapi" / "openapi.json"
DOCUMENT: dict[str, Any] = json.loads(COMMITTED.read_text())
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]


class Operation(NamedTuple):
    """A method of a path, and what the document says of it."""

    method: str
    path: str
    says: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.says["operationId"])

    def responses(self, first_digit: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the answers whose status begins so."""
        for status, response in self.says["responses"].items():
            if status.startswith(first_digit):
                yield status, response


OPERATIONS = [
    Operation(method.upper(), path, says)
    for path, methods in DOCUMENT["paths"].items()
    for method, says in methods.items()
]


def properties(schema: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every property of a schema, those of schemas inside it too, with its path."""
    if isinstance(schema, list):
        for one in schema:
            yield from properties(one, where)
    if not isinstance(schema, dict):
        return
    for name, one in schema.get("properties", {}).items():
        yield f"{where}.{name}", one
        yield from properties(one, f"{where}.{name}")
    for word in ("items", "anyOf", "oneOf", "allOf", "additionalProperties"):
        yield from properties(schema.get(word), where)
