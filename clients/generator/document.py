"""What clients need to know of the OpenAPI document: its types and its operations."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).parents[2] / "openapi" / "openapi.json"
JSON = "application/json"

BY_HAND = {
    "sendFeedback",  # gives each event an id
    "streamFeedback",  # the streams of the clients do this in batches
    "recommendToMany",  # answers line by line
    "watchJob",  # answers event by event
    "sendRatings",
    "streamRatings",  # earlier names of the first two
}
"""Operations whose methods are written by hand, or that need none."""

NOT_REPEATABLE = {"cancelJob", "createKey", "rollBackModel"}
"""Operations that do something again when they are sent again, or are refused then."""
CONDITIONS = {"if-match", "if_version"}
"""Parameters with which a repeat of a request that was carried out would be refused."""

NAMES_OF_ITERATORS = {"recommend": "recommendations"}
"""What an iterator goes over, where the name of its operation does not say it."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an operation."""

    name: str
    place: str
    """``path``, ``query`` or ``header``."""
    schema: dict[str, Any]
    description: str


@dataclass(frozen=True)
class Operation:
    """A method of the clients."""

    name: str
    method: str
    path: str
    description: str
    parameters: tuple[Parameter, ...]
    body: dict[str, Any] | None
    """The schema of the body."""
    body_is_required: bool
    answer: dict[str, Any]
    """The schema of the answer."""
    row: dict[str, Any] | None
    """The schema of a row, if the answer is a page of a list."""
    is_repeatable: bool

    @property
    def snake(self) -> str:
        """Its name in Python."""
        return snake(self.name)

    @property
    def iterator(self) -> str:
        """The name in camel case of the method that goes over all pages."""
        bare = NAMES_OF_ITERATORS.get(self.name) or re.sub(r"^(list|get|find)", "", self.name)
        return f"iterate{bare[0].upper()}{bare[1:]}"

    def of(self, place: str) -> tuple[Parameter, ...]:
        """Return the parameters of one place."""
        return tuple(one for one in self.parameters if one.place == place)

    @property
    def condition(self) -> Parameter | None:
        """The parameter with which the operation must not be repeated."""
        return next((one for one in self.parameters if one.name in CONDITIONS), None)


class Document:
    """The OpenAPI document."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.schemas: dict[str, dict[str, Any]] = content["components"]["schemas"]
        self.operations = tuple(self._operations(content["paths"]))

    @classmethod
    def read(cls) -> "Document":
        """Read the document of this repository."""
        return cls(content())

    def _operations(self, paths: dict[str, Any]) -> Iterator[Operation]:
        for path, methods in paths.items():
            for method, said in methods.items():
                if said["operationId"] not in BY_HAND:
                    yield self._operation(method.upper(), path, said)

    def _operation(self, method: str, path: str, said: dict[str, Any]) -> Operation:
        body = said.get("requestBody", {})
        answers = [answer for status, answer in said["responses"].items() if status < "3"]
        answer = answers[0]["content"][JSON]["schema"]
        parameters = tuple(
            Parameter(one["name"], one["in"], one["schema"], one.get("description", ""))
            for one in said.get("parameters", ())
        )
        is_paged = any(one.name == "cursor" for one in parameters)
        return Operation(
            name=said["operationId"],
            method=method,
            path=path,
            description=said["description"],
            parameters=parameters,
            body=body["content"][JSON]["schema"] if body else None,
            body_is_required=body.get("required", False),
            answer=answer,
            row=self._row(answer) if is_paged else None,
            is_repeatable=said["operationId"] not in NOT_REPEATABLE,
        )

    def _row(self, page: dict[str, Any]) -> dict[str, Any]:
        row: dict[str, Any] = self.schemas[named(page)]["properties"]["items"]["items"]
        return row


def content() -> dict[str, Any]:
    """Return the document of this repository as it is written."""
    read: dict[str, Any] = json.loads(DOCUMENT.read_text())
    return read


def named(schema: dict[str, Any]) -> str:
    """Return the name of the type that a schema refers to; empty if it refers to none."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def refers(schema: Any) -> bool:
    """Return whether a schema refers to a type, however deep."""
    if isinstance(schema, dict):
        return "$ref" in schema or any(refers(inner) for inner in schema.values())
    return isinstance(schema, list) and any(refers(inner) for inner in schema)


def choices(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the alternatives of a schema; empty if there is one form alone."""
    found: list[dict[str, Any]] = schema.get("anyOf") or schema.get("oneOf") or []
    return found


def snake(camel: str) -> str:
    """Return a name in snake case.

    >>> snake("findSimilarItems")
    'find_similar_items'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", camel).lower()
