"""Real answers as examples of the OpenAPI document: the first of each operation and status.

    python -m tests.openapi.recording    live through the story and write service/api/examples anew

What a story received is stored as it was. ``test_examples.py`` lives through it again.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from service.api.documentation import EXAMPLES
from service.http.problems import MEDIA_TYPE
from tests.openapi.document import OPERATIONS, SCHEMAS, properties
from tests.openapi.promises import operation_of

ANYTHING = {
    where.rpartition(".")[2]
    for name, schema in SCHEMAS.items()
    for where, one in properties(schema, name)
    if '"additionalProperties": {' in json.dumps(one) or one.get("additionalProperties") is True
}
"""Names of properties that are maps: their keys are data, not fields."""


class Recording:
    """The first good answer of each operation and status, and the first problem of each code."""

    def __init__(self) -> None:
        self.answers: dict[str, dict[str, Any]] = {}
        self.problems: dict[str, Any] = {}

    def note(self, answer: httpx.Response) -> None:
        """Keep an answer, unless there is one of its kind."""
        answer.read()
        operation = operation_of(answer.request)
        if operation is None:
            return
        kind = answer.headers["content-type"].partition(";")[0]
        body = answer.json() if kind in {"application/json", MEDIA_TYPE} else answer.text
        if kind == MEDIA_TYPE:
            self.problems.setdefault(body["code"], body)
        else:
            by_status = self.answers.setdefault(operation.id, {})
            by_status.setdefault(str(answer.status_code), body)

    def write(self, folder: Path) -> None:
        """Write a file for each tag, and one for the problems."""
        for old in folder.glob("*.json"):
            old.unlink()
        files: dict[str, dict[str, Any]] = {"problems": self.problems}
        for operation in OPERATIONS:
            if operation.id in self.answers:
                by_id = files.setdefault(operation.says["tags"][0], {})
                by_id[operation.id] = self.answers[operation.id]
        for name, content in files.items():
            text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
            (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def differences(recorded: Any, received: Any, where: str) -> Iterator[str]:
    """Yield the places where two answers have other fields or other types; values may differ."""
    if recorded is None or received is None:
        return
    if _kind(recorded) != _kind(received):
        yield f"{where}: {_kind(recorded)} is {_kind(received)} now"
    elif isinstance(recorded, dict) and where.rpartition(".")[2] not in ANYTHING:
        if recorded.keys() != received.keys():
            yield f"{where}: {sorted(recorded)} are {sorted(received)} now"
        for name in recorded.keys() & received.keys():
            yield from differences(recorded[name], received[name], f"{where}.{name}")
    elif isinstance(recorded, list):
        for one, other in zip(recorded, received, strict=False):
            yield from differences(one, other, where)


def _kind(value: Any) -> str:
    return "number" if type(value) in {int, float} else type(value).__name__


def main() -> None:
    """Record the examples."""
    from tests.openapi.story import told  # noqa: PLC0415 - it starts services

    with tempfile.TemporaryDirectory() as room:
        told(Path(room)).write(EXAMPLES)


if __name__ == "__main__":
    main()
