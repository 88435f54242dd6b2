"""The atomic files of RecBole: ``NAME.inter``, ``NAME.item`` and ``NAME.user`` in a folder.

The header gives each column a name and a type: ``user_id:token``, ``rating:float``,
``genre:token_seq``. Columns that mean nothing to us are features.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from service.files.foreign.tables import (
    CATEGORIES,
    MOST_TEXT,
    MOST_TEXTS,
    Foreign,
    Line,
    number_of,
    rows_of,
)
from service.files.opening import BadFile

IMPLICIT = "like"
"""The kind of an interaction without a rating."""
_TYPES = {"token", "token_seq", "float", "float_seq"}
_READ = {"user_id", "item_id", "rating", "timestamp"}
"""Columns of interactions that are read."""

Columns = Sequence[tuple[str, str]]
"""Name and type of each."""


def read_recbole(folder: Path) -> Foreign:
    """Return what a folder holds; more than one data set in it is refused."""
    found = {kind: sorted(folder.glob(f"*.{kind}")) for kind in ("inter", "item", "user")}
    for kind, paths in found.items():
        if len(paths) > 1:
            raise BadFile(folder, f"there are {len(paths)} files *.{kind}: give a folder with one")
    if not any(found.values()):
        raise BadFile(folder, "no files of RecBole: give a folder with NAME.inter")
    ignored: dict[str, None] = {}
    return Foreign(
        items=(line for path in found["item"] for line in _documents(path, "item")),
        users=(line for path in found["user"] for line in _documents(path, "user")),
        feedback={
            "feedback": (line for path in found["inter"] for line in _interactions(path, ignored))
        },
        ignored={"feedback": ignored},
    )


def _interactions(path: Path, ignored: dict[str, None]) -> Iterator[Line]:
    for number, said in _rows(path, ("user_id", "item_id"), "rating"):
        ignored |= dict.fromkeys(name for name in said if name not in _READ)
        event: dict[str, Any] = {"user": said["user_id"], "item": said["item_id"]}
        if "rating" in said:
            event["rating"] = number_of(path, number, said["rating"])
        else:
            event["kind"] = IMPLICIT
        if "timestamp" in said:
            event["timestamp"] = number_of(path, number, said["timestamp"])
        yield number, event


def _documents(path: Path, named: str) -> Iterator[Line]:
    for number, said in _rows(path, (f"{named}_id",)):
        document: dict[str, Any] = {named: said.pop(f"{named}_id"), "features": said}
        for name in sorted(CATEGORIES & said.keys()) if named == "item" else ():
            if isinstance(said[name], list):
                document["categories"] = said.pop(name)
                break
        yield number, document


def _rows(
    path: Path, needed: Sequence[str], *also_full: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield lines by column without empty cells; BadFile if one stands where it must not."""
    full = {*needed, *also_full}
    columns: Columns = ()
    for number, cells in rows_of(path, "\t", len(columns)):
        if not columns:
            columns = _header(path, cells, needed)
            continue
        if len(cells) < len(columns):
            says = f"the line has {len(cells)} columns, not {len(columns)}"
            raise BadFile(path, says, line=number)
        pairs = [*zip(columns, cells, strict=False)]
        empty = [name for (name, _), text in pairs if name in full and not text.strip()]
        if empty:
            raise BadFile(path, f"{empty[0]} is empty: fill it in, or remove the line", line=number)
        yield (
            number,
            {
                name: text if name in {"rating", "timestamp"} else _value(path, number, kind, text)
                for (name, kind), text in pairs
                if text
            },
        )


def _header(path: Path, cells: Sequence[str], needed: Sequence[str]) -> Columns:
    columns = [(name, kind) for name, _, kind in (cell.strip().partition(":") for cell in cells)]
    missing = [name for name in needed if (name, "token") not in columns]
    if missing or any(kind not in _TYPES for _, kind in columns):
        says = f"the header must name each column and its type, such as {needed[0]}:token"
        raise BadFile(path, says, line=1)
    return columns


def _value(path: Path, number: int, kind: str, text: str) -> Any:
    if kind == "token":
        return text[:MOST_TEXT]
    if kind == "float":
        return number_of(path, number, text)
    return [part[:MOST_TEXT] for part in text.split()[:MOST_TEXTS]]
