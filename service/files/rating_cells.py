"""Cells of rows with ratings, checked and converted to numbers; shared by CSV and NDJSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from core.types import F64, I64
from service.files.opening import FileLines

MILLISECONDS_FROM = 1e11
"""Numbers from here on are Unix milliseconds; smaller ones are seconds."""
LATEST_MS = 253_402_300_800_000
"""The year 10000 in Unix milliseconds: later times are mistakes."""


@dataclass(frozen=True)
class RatingChunk:
    """Consecutive rows of a file."""

    users: list[str]
    items: list[str]
    rating: F64
    """NaN where the cell is empty in a file with kinds."""
    kinds: list[str] | None
    """None when the file has no kinds or nobody asked for them; "" where the cell is empty."""
    timestamp_ms: I64 | None
    """None when the file has no timestamps."""
    first_line: int
    read: float
    """Share of the file that has been read, 0 to 1: for a progress bar."""
    of_sessions: bool = False
    """Whether the users are sessions."""
    ignored: tuple[str, ...] = ()
    """Columns that were not read."""


@dataclass(frozen=True)
class Cells:
    """Rows as texts, column by column; ``lines`` are the numbers of their lines."""

    lines: list[int]
    users: list[str]
    items: list[str]
    ratings: list[str]
    times: list[str] | None = None
    kinds: list[str] | None = None
    times_are: str = "timestamp"
    """The column of the times: timestamp or position."""
    of_sessions: bool = False
    """Whether the users are sessions."""


def checked(cells: Cells, lines: FileLines) -> RatingChunk:
    """Return the rows as numbers; BadFile for the first line with an invalid cell."""
    rating = np.array([*map(_number, cells.ratings)], dtype=np.float64)
    moments = None if cells.times is None else _moments(cells.times)
    for row, problem in sorted(_problems(cells, rating, moments))[:1]:
        raise lines.bad(problem, cells.lines[row])
    return RatingChunk(
        users=cells.users,
        items=cells.items,
        rating=rating,
        kinds=cells.kinds,
        timestamp_ms=None if moments is None else np.rint(moments).astype(np.int64),
        first_line=cells.lines[0] if cells.lines else 0,
        read=lines.read,
        of_sessions=cells.of_sessions,
    )


def _problems(cells: Cells, rating: F64, moments: F64 | None) -> Iterator[tuple[int, str]]:
    """Yield the first bad row of each column with its message."""
    for name, ids in (("user", cells.users), ("item", cells.items)):
        if "" in ids:
            yield ids.index(""), f"the {name} is empty: give it an id"
    # a row of a kind needs no rating
    is_needless = [cells.kinds is not None and text == "" for text in cells.ratings]
    is_bad = ~np.isfinite(rating) & ~np.array(is_needless, dtype=np.bool_)
    for row in np.flatnonzero(is_bad)[:1].tolist():
        says = f"the rating {cells.ratings[row]!r} is not a finite number"
        yield row, f"{says}: correct or remove the line"
    if cells.times is not None and moments is not None:
        for row in np.flatnonzero(~(np.abs(moments) < LATEST_MS))[:1].tolist():
            yield row, _bad_time(cells.times_are, cells.times[row])


def _bad_time(column: str, text: str) -> str:
    if column == "position":
        return f"the position {text!r} is not a number: correct it"
    says = f"the timestamp {text!r} is neither Unix seconds nor RFC 3339 "
    return f"{says}(2026-11-18T12:00:00Z): correct it, or leave the whole column out"


def _moments(times: list[str]) -> F64:
    """Return Unix milliseconds, NaN for invalid times."""
    moments = np.array([*map(_seconds, times)], dtype=np.float64)
    moments[np.abs(moments) < MILLISECONDS_FROM] *= 1000.0
    return moments


def _number(text: str) -> float:
    """Return the number, NaN for an invalid one."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _seconds(text: str) -> float:
    """Return Unix seconds, NaN when the text is neither a number nor a time with an offset."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return float("nan")
    return moment.timestamp() if moment.tzinfo is not None else float("nan")
