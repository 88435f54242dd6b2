"""Files of documents for `hedgerow import`: NDJSON as the api takes it, or CSV.

A CSV has a column for each feature.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from service.files.features import feature_value, table_rows
from service.files.opening import BadFile, is_ndjson, opened
from service.files.parts import FilePart

ROWS = 5_000
"""Documents in a part."""

Numbered = Iterator[tuple[int, bytes]]
"""Line numbers and documents."""


def read_documents(path: Path, named: str, rows: int = ROWS) -> Iterator[FilePart]:
    """Yield the documents of a file in parts; ``named`` (item or user) names the ids."""
    documents = _lines(path) if is_ndjson(path) else _rows(path, named)
    while chosen := list(islice(documents, rows)):
        numbers = [number for number, _ in chosen]
        # without the progress within the file, because there are few parts
        yield FilePart(b"\n".join(line for _, line in chosen), numbers, 0.0)


def _lines(path: Path) -> Numbered:
    with opened(path, ends="\n") as lines:
        for line in lines:
            if text := line.strip():
                yield lines.number, text


def _rows(path: Path, named: str) -> Numbered:
    line_of: dict[str, int] = {}
    for number, row in enumerate(table_rows(path, named), 2):
        _check_is_document(path, named, row)
        if (before := line_of.setdefault(row[named], number)) != number:
            says = f"{named} {row[named]!r} is in line {before} already: "
            raise BadFile(path, says + "keep one line for each", line=number)
        document: dict[str, Any] = {named: row[named]}
        features = {}
        for name, text in row.items():
            if name == named or not text:
                continue
            if named == "item" and name in _FIELDS:
                document[name] = _FIELDS[name](text)
            else:
                features[name] = _feature(text)
        yield number, msgspec.json.encode(document | {"features": features})


def _check_is_document(path: Path, named: str, row: dict[str, str]) -> None:
    """Refuse a file of feedback, which as documents would replace all existing ones."""
    if {"user", "item"} <= row.keys():
        says = "a file with the columns user and item holds feedback, not documents of"
        raise BadFile(path, f"{says} {named}s: import it with `hedgerow import {path.name}`")


def _feature(text: str) -> float | int | str | list[str]:
    value = feature_value(text)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _truth(text: str) -> bool | str:
    # the service refuses anything else, and its answer names the line
    return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)


_FIELDS: dict[str, Callable[[str], Any]] = {
    "categories": lambda text: text.split("|"),
    "hidden": _truth,
    "available_from": str,
    "available_until": str,
}
"""Columns of an item that are not features."""
