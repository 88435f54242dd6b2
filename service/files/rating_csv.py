"""Ratings in a CSV: its header, its rows, and the line where quotes or commas are wrong."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from service.files.opening import BadFile, FileLines, other_separator
from service.files.rating_cells import Cells, RatingChunk, checked


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a file of ratings."""

    rows: int
    """Maximum number of rows in a chunk."""
    rated: bool
    """Whether a column of ratings is required; without one all ratings are 1."""
    kinds: bool
    """Whether a column ``kind`` is read, with or instead of ratings."""
    ordered: bool = False
    """Whether the order of rows matters: ``session`` may name users, ``position`` times."""


def csv_chunks(
    first: str, texts: Iterator[str], lines: FileLines, wanted: ReadOptions
) -> Iterator[RatingChunk]:
    """Yield the rows below the header ``first``; BadFile names the first bad line."""
    # "196, 242": blanks after commas are skipped only if the header has them too
    blanks = ", " in first
    header = given = _header(first, blanks, lines)
    if wanted.ordered:
        header = _of_sessions(header, lines)
    # what the columns are called in the file, if the order matters
    called = dict(zip(header, given, strict=True))
    kinds = wanted.kinds and "kind" in header
    columns = _columns(header, kinds, lines, wanted)
    ignored = tuple(given[at] for at, name in enumerate(header) if name not in columns)
    reader = csv.reader(texts, skipinitialspace=blanks)
    while True:
        rows, fault = _rows(reader, len(header), lines, wanted.rows)
        if not rows and fault is None:
            return
        chunk = checked(_cells(rows, columns, kinds, called), lines)
        if fault is not None:
            raise fault
        yield replace(chunk, ignored=ignored)


def _header(first: str, blanks: bool, lines: FileLines) -> list[str]:
    try:
        titles = next(csv.reader([first], skipinitialspace=blanks), [])
    except csv.Error as error:
        raise lines.bad(f"{error}: correct the line") from error
    return [title.strip() for title in titles]


def _of_sessions(header: list[str], lines: FileLines) -> list[str]:
    """Return the header with the names of ratings; BadFile if the rows have no order."""
    if {"user", "session"} <= set(header):
        raise lines.bad("both user and session: leave out the one that does not matter", 1)
    if not {"timestamp", "position"} & set(header):
        raise lines.bad("no column timestamp or position: the order of the rows is needed", 1)
    names = {"session": "user"}
    if "timestamp" not in header:
        names["position"] = "timestamp"
    return [names.get(title, title) for title in header]


def _columns(
    header: list[str], kinds: bool, lines: FileLines, wanted: ReadOptions
) -> dict[str, int]:
    """Return the positions of the columns to read."""
    needed = ["user", "item", "rating"] if wanted.rated and not kinds else ["user", "item"]
    for name in needed:
        if name not in header:
            raise lines.bad(_missing(header, name, wanted), 1)
    read = [*needed, "rating", "timestamp", *(["kind"] if kinds else [])]
    return {name: header.index(name) for name in read if name in header}


def _missing(header: list[str], name: str, wanted: ReadOptions) -> str:
    if (mark := other_separator(header)) is not None:
        return f"the columns are separated by {mark}: write the file with commas"
    value = " and rating or kind, " if wanted.kinds else ",rating " if wanted.rated else " "
    return (
        f"no column {name!r} among {', '.join(header) or 'none'}: "
        f"the first line must name user,item{value}and may name timestamp"
    )


def _rows(
    reader: Iterator[list[str]], width: int, lines: FileLines, most: int
) -> tuple[list[tuple[int, list[str]]], BadFile | None]:
    """Return the rows of a chunk; if a line is bad, the rows before it and the error."""
    rows: list[tuple[int, list[str]]] = []
    begins = lines.number + 1
    try:
        for row in islice(reader, most):
            if len(row) == width:
                rows.append((begins, row))
            elif row:
                says = f"{len(row)} columns where the header has {width}: correct the line"
                return rows, lines.bad(says + _unclosed(begins, lines.number), begins)
            begins = lines.number + 1
    except csv.Error as error:
        return rows, lines.bad(f"{error}: correct the quotes or the line", begins)
    except BadFile as error:
        return rows, error
    return rows, None


def _unclosed(begins: int, ends: int) -> str:
    """Return a hint for a row of several lines, else an empty text."""
    return "" if begins == ends else f" (the row goes on to line {ends}: is a quote not closed?)"


def _cells(
    rows: list[tuple[int, list[str]]],
    columns: dict[str, int],
    kinds: bool,
    called: dict[str, str],
) -> Cells:
    named = {name: [row[column] for _, row in rows] for name, column in columns.items()}
    return Cells(
        lines=[line for line, _ in rows],
        users=named["user"],
        items=named["item"],
        ratings=named.get("rating", ["" if kinds else "1"] * len(rows)),
        times=named.get("timestamp"),
        kinds=named.get("kind"),
        times_are=called.get("timestamp", "timestamp"),
        of_sessions=called["user"] == "session",
    )
