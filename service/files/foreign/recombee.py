"""Interactions, items and users of Recombee: a folder with a file for each, named by what it holds.

A file is what its API answers (a JSON array, or an object on each line) or a CSV; its properties
are called as there (``userId``) or as in its integrations (``user_id``).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from service.files.features import feature_value, table_rows
from service.files.foreign.tables import CATEGORIES, MOST_TEXT, MOST_TEXTS, Foreign, Line
from service.files.opening import BadFile, opened

INTERACTIONS = {
    "detailviews": "view",
    "viewportions": "view",
    "cartadditions": "click",
    "bookmarks": "like",
    "purchases": "purchase",
    "ratings": "rating",
}
"""What each kind of interaction becomes."""
SUFFIXES = {".csv", ".json", ".ndjson", ".jsonl"}
LONGEST_ARRAY = 1 << 30
"""Maximum bytes of an array of JSON, which is read as a whole."""
_READ = {"userid", "itemid", "timestamp", "rating"}
Numbered = Iterator[tuple[int, dict[str, Any]]]
Scale = Callable[[], tuple[float, float]]
"""Asks for the lowest and the highest rating."""


def read_recombee(folder: Path, scale: Scale) -> Foreign:
    """Return what a folder holds; a rating, -1 to 1 there, is moved to the scale."""
    found = _files(folder)
    interactions = {_stem(found[name]): name for name in INTERACTIONS if name in found}
    ignored: dict[str, dict[str, None]] = {stem: {} for stem in interactions}
    return Foreign(
        items=_documents(found["items"], "item") if "items" in found else (),
        users=_documents(found["users"], "user") if "users" in found else (),
        feedback={
            stem: _events(found[name], INTERACTIONS[name], scale, ignored[stem])
            for stem, name in interactions.items()
        },
        ignored=ignored,
    )


def _files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by what they hold."""
    found: dict[str, Path] = {}
    known = {"items", "users", *INTERACTIONS}
    for path in sorted(folder.glob("*")):
        name = _same(_stem(path))
        if name not in known or not SUFFIXES & {*path.suffixes}:
            continue
        if name in found:
            raise BadFile(path, f"{found[name].name} holds the same: leave one of them")
        found[name] = path
    if not found:
        says = "no files of Recombee: give a folder with detail_views.csv, purchases.json, ..."
        raise BadFile(folder, says)
    return found


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def _same(name: str) -> str:
    """Return what ``detail_views``, ``detailViews`` and ``detail-views`` have in common."""
    return name.replace("_", "").replace("-", "").lower()


def _events(path: Path, kind: str, scale: Scale, ignored: dict[str, None]) -> Iterator[Line]:
    low, high = scale() if kind == "rating" else (0.0, 0.0)
    for number, row in _rows(path, "user_id", "userId"):
        said = {_same(name): value for name, value in row.items()}
        ignored |= dict.fromkeys(name for name in row if _same(name) not in _READ)
        event: dict[str, Any] = {name: _id(path, number, said, name) for name in ("user", "item")}
        if kind == "rating":
            share = (_rating(path, number, said.get("rating")) + 1) / 2
            event["rating"] = round(low + share * (high - low), 6)
        else:
            event["kind"] = kind
        if _is_filled(said.get("timestamp")):
            event["timestamp"] = _time(path, number, said["timestamp"])
        yield number, event


def _documents(path: Path, named: str) -> Iterator[Line]:
    is_csv = not _is_json(path)
    for number, row in _rows(path, f"{named}_id", f"{named}Id"):
        one = _id(path, number, {_same(name): value for name, value in row.items()}, named)
        features = {
            name: _feature(value, is_csv)
            for name, value in row.items()
            if _same(name) != f"{named}id" and _is_filled(value)
        }
        document: dict[str, Any] = {named: one, "features": features}
        for name in sorted(CATEGORIES & features.keys()) if named == "item" else ():
            if isinstance(features[name], list):
                document["categories"] = features.pop(name)
                break
        yield number, document


# --- rows ---------------------------------------------------------------------------------------


def _rows(path: Path, *ids: str) -> Numbered:
    """Yield rows and their numbers: lines of a file, or places in an array, from 1."""
    if not _is_json(path):
        yield from enumerate(table_rows(path, *ids), 2)
        return
    with opened(path, ends="\n", longest_line=LONGEST_ARRAY) as lines:
        left = iter(lines)
        first = next((line for line in left if line.strip()), b"")
        whole = chain([first], left)
        if first.lstrip().startswith(b"["):
            for number, one in enumerate(read_array(path, whole), 1):
                yield number, _object(path, number, one, ids[-1])
            return
        for line in whole:
            if line.strip():
                try:
                    one = msgspec.json.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise lines.bad(f"{error}: each line must be a JSON object") from error
                yield lines.number, _object(path, lines.number, one, ids[-1])


def read_array(path: Path, lines: Iterable[bytes], longest: int = LONGEST_ARRAY) -> list[Any]:
    """Return the array of JSON that lines of a file make together; BadFile if it is too long."""
    text = bytearray()
    for line in lines:
        text += line
        if len(text) > longest:
            says = f"the array is longer than {longest} bytes: write an object on each line"
            raise BadFile(path, says)
    try:
        return msgspec.json.decode(text, type=list[Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadFile(path, f"{error}: give a JSON array, or an object a line") from error


def _is_json(path: Path) -> bool:
    return ".csv" not in path.suffixes


def _object(path: Path, number: int, one: Any, id_name: str) -> dict[str, Any]:
    # a list of items without their properties is one of ids
    row = {id_name: one} if isinstance(one, str) else one
    if not isinstance(row, dict):
        raise BadFile(path, "this is no JSON object: correct or remove it", line=number)
    return row


def _is_filled(value: Any) -> bool:
    return value is not None and value != ""


def _id(path: Path, number: int, said: Mapping[str, Any], named: str) -> str:
    value = said.get(f"{named}id")
    if not _is_filled(value):
        raise BadFile(path, f"there is no {named}_id: fill it in, or remove the row", line=number)
    return str(value)


def _rating(path: Path, number: int, value: Any) -> float:
    try:
        rating = float(value)
    except (TypeError, ValueError):
        rating = float("nan")
    if not -1 <= rating <= 1:
        says = f"the rating {str(value)[:50]!r} is not from -1 to 1: correct it"
        raise BadFile(path, says, line=number)
    return rating


def _time(path: Path, number: int, value: Any) -> float | str:
    """Return a time as our routes take it; without a zone it is one of UTC."""
    try:
        seconds = float(value)
        if isfinite(seconds):
            return seconds
    except (TypeError, ValueError):
        pass
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        says = f"the timestamp {str(value)[:50]!r} is neither ISO 8601 nor Unix time: correct it"
        raise BadFile(path, says, line=number) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def _feature(value: Any, is_text: bool) -> Any:
    """Return a property as a feature; a set is an array of JSON, also in a CSV."""
    if is_text and value.startswith("["):
        try:
            value = msgspec.json.decode(value, type=list[Any])
        except msgspec.DecodeError:
            return value[:MOST_TEXT]
    elif is_text:
        value = feature_value(value)
    match value:
        case str():
            return value[:MOST_TEXT]
        case list():
            texts = [str(one)[:MOST_TEXT] for one in value if one is not None]
            return texts[:MOST_TEXTS]
        case dict():
            return msgspec.json.encode(value).decode()[:MOST_TEXT]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value
