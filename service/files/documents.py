"""Files of documents for `hedgerow import`: NDJSON as the api takes it, CSV, or Parquet.

A CSV has a column for each feature; a Parquet file may have them in one, ``features``, too.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from service.extras import load
from service.files.features import feature_value, table_rows, whole
from service.files.opening import BadFile, is_ndjson, is_parquet, opened
from service.files.parts import FilePart

ROWS = 5_000
"""Documents in a part."""

Numbered = Iterator[tuple[int, bytes]]
"""Line numbers and documents."""


def read_documents(path: Path, named: str, rows: int = ROWS) -> Iterator[FilePart]:
    """Yield the documents of a file in parts; ``named`` (item or user) names the ids."""
    if is_parquet(path):
        documents = _parquet_rows(path, named, rows)
    else:
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
        _check_is_new(path, named, line_of, row[named], number)
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


def _check_is_new(path: Path, named: str, line_of: dict[str, int], one: str, number: int) -> None:
    if (before := line_of.setdefault(one, number)) != number:
        says = f"{named} {one!r} is in line {before} already: keep one line for each"
        raise BadFile(path, says, line=number)


def _parquet_rows(path: Path, named: str, rows: int) -> Numbered:
    reading = load("service.files.parquet.reading", extra="parquet", for_what=f"to read {path}")
    names = reading.column_names(path)
    if named not in names:
        says = f"documents of {named}s need the column {named}; these are"
        raise BadFile(path, f"{says} {', '.join(names) or 'none'}")
    _check_is_document(path, named, dict.fromkeys(names, ""))
    line_of: dict[str, int] = {}
    for some in reading.read_rows(path, rows):
        for number, cells in enumerate(some.rows, some.first):
            try:
                row = reading.plain(cells)
            except ValueError as error:
                raise BadFile(path, str(error), line=number) from error
            if named not in row:
                raise BadFile(path, f"the {named} is empty: give it an id", line=number)
            document = _document(row, named)
            _check_is_new(path, named, line_of, document[named], number)
            yield number, msgspec.json.encode(document)


def _document(row: dict[str, Any], named: str) -> dict[str, Any]:
    """Return a row of a Parquet file as a document; what no document has is a feature."""
    document: dict[str, Any] = {named: str(whole(row.pop(named)))}
    features: dict[str, Any] = {}
    if isinstance(row.get("features"), dict):
        features |= row.pop("features")
    for name in ("extra", *(_FIELDS if named == "item" else ("links",))):
        if name in row:
            value = row.pop(name)
            read = _TEXTS.get(name)
            document[name] = read(value) if read and isinstance(value, str) else value
    document["features"] = {name: whole(value) for name, value in (features | row).items()}
    return document


def _object(text: str) -> Any:
    """Return what a text of JSON says; the text itself if it is none, which the service refuses."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _feature(text: str) -> float | int | str | list[str]:
    value: float | int | str | list[str] = whole(feature_value(text))
    return value


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

_TEXTS: dict[str, Callable[[str], Any]] = _FIELDS | {"extra": _object}
"""How a column of a Parquet file is read if it holds texts."""
