"""Ratings in files: CSV or NDJSON, plain or gzip, read in bounded memory.

A CSV needs a header that names ``user,item,rating`` and may name ``timestamp``; NDJSON has the same names as
fields. A CSV of feedback may name ``kind`` with or instead of ``rating``. Other columns are ignored. Timestamps are Unix seconds (from 1e11 up: milliseconds) or RFC 3339.
Every error names the file, the line and what to do.
"""

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

import msgspec
import numpy as np

from core.types import F64, I64
from service.errors import ServiceError

LONGEST_LINE = 1 << 20
"""In bytes; a longer line is refused instead of read into memory."""
CHUNK = 50_000
"""Rows read at a time."""
MILLISECONDS_FROM = 1e11
LATEST_MS = 253_402_300_800_000
"""The year 10000: later times are mistakes."""


class BadRatingsFile(ServiceError):
    """The file cannot be read as ratings."""

    status, code = 422, "bad_ratings_file"


@dataclass(frozen=True)
class RatingChunk:
    """Some rows of a file in their order, n at most ``CHUNK``."""

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
    """How much of the file has been read, 0..1: for a progress bar."""


@dataclass(frozen=True)
class Ratings:
    """A whole file: ``user_ix`` and ``item_ix`` number the ids in order of appearance."""

    user_ids: list[str]
    item_ids: list[str]
    user_ix: I64
    item_ix: I64
    rating: F64
    timestamp_ms: I64 | None


class _Row(msgspec.Struct):
    user: str | int
    item: str | int
    rating: float
    timestamp: float | str | None = None


def read_chunks(
    path: Path, size: int = CHUNK, *, rated: bool = True, kinds: bool = False
) -> Iterator[RatingChunk]:
    """Yield the ratings of a file in its order, ``size`` at a time; at least one or BadRatingsFile.

    With ``kinds`` a CSV may name a column ``kind``; then ratings may be empty or lack.
    """
    rows = 0
    for chunk in _Reader(path, size, rated, kinds).chunks():
        rows += len(chunk.users)
        yield chunk
    if rows == 0:
        raise BadRatingsFile(f"{path}: no ratings: give at least one row below the header")


def read_ratings(
    path: Path,
    on_read: Callable[[float], None] = lambda read: None,
    *,
    rated: bool = True,
) -> Ratings:
    """Return all ratings of a file; ``on_read`` hears how much of it has been read, 0..1.

    A CSV may lack the ratings unless ``rated``: then all are 1.
    """
    users: dict[str, int] = {}
    items: dict[str, int] = {}
    parts = []
    for chunk in read_chunks(path, rated=rated):
        user_ix = [users.setdefault(user, len(users)) for user in chunk.users]
        item_ix = [items.setdefault(item, len(items)) for item in chunk.items]
        parts.append((_i64(user_ix), _i64(item_ix), chunk.rating, chunk.timestamp_ms))
        on_read(chunk.read)
    times = [part[3] for part in parts if part[3] is not None]
    return Ratings(
        list(users),
        list(items),
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        np.concatenate([part[2] for part in parts]),
        np.concatenate(times) if times else None,
    )


def _i64(values: list[int]) -> I64:
    return np.array(values, dtype=np.int64)


class _Reader:
    """One pass over one file."""

    def __init__(self, path: Path, size: int, rated: bool, kinds: bool) -> None:
        self._path, self._size, self._rated, self._kinds = path, size, rated, kinds
        self._line = 0

    def chunks(self) -> Iterator[RatingChunk]:
        try:
            with self._path.open("rb") as raw:
                yield from self._decoded(raw, max(self._path.stat().st_size, 1))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadRatingsFile(self._says("the gzip data is cut off or damaged")) from error
        except OSError as error:
            raise BadRatingsFile(self._says(error.strerror or str(error))) from error

    def _decoded(self, raw: BinaryIO, total: int) -> Iterator[RatingChunk]:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream = cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if packed else raw
        lines = self._lines(stream)
        first = next(lines, "").removeprefix("\ufeff")
        if not first:
            raise BadRatingsFile(self._says("the file is empty"))
        rows = self._json_chunks if first.lstrip().startswith("{") else self._csv_chunks
        for chunk in rows(first, lines):
            yield RatingChunk(*chunk, min(raw.tell() / total, 1.0))

    def _lines(self, stream: BinaryIO) -> Iterator[str]:
        """Yield lines of bounded length."""
        while line := stream.readline(LONGEST_LINE + 1):
            self._line += 1
            if len(line) > LONGEST_LINE:
                raise self._bad(
                    f"the line is longer than {LONGEST_LINE} bytes: is this a ratings file?"
                )
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                raise self._bad("the text is not UTF-8: convert the file") from error
            yield text

    # --- CSV ----------------------------------------------------------------------------------------

    def _csv_chunks(self, first: str, lines: Iterator[str]) -> Iterator["_Columns"]:
        try:
            # "196, 242": the blank is the comma's where the header has it, too
            blanks = ", " in first
            titles = next(csv.reader([first], skipinitialspace=blanks), [])
            header = [title.strip() for title in titles]
        except csv.Error as error:
            raise self._bad(f"{error}: mend the line") from error
        kinds = self._kinds and "kind" in header
        needed = ["user", "item", "rating"] if self._rated and not kinds else ["user", "item"]
        wanted = {name: self._column(header, name) for name in needed}
        others = ["rating", "timestamp", *(["kind"] if kinds else [])]
        wanted |= {name: header.index(name) for name in others if name in header}
        reader = csv.reader(lines, skipinitialspace=blanks)
        while True:
            rows, fault = self._csv_rows(reader, len(header))
            if not rows and fault is None:
                return
            named = {name: [row[column] for _, row in rows] for name, column in wanted.items()}
            ratings = named.get("rating", ["" if kinds else "1"] * len(rows))
            numbers = [line for line, _ in rows]
            # what is wrong in the rows before the fault comes first
            columns = self._columns(
                numbers,
                named["user"],
                named["item"],
                ratings,
                named.get("timestamp"),
                named.get("kind"),
            )
            if fault is not None:
                raise fault
            yield columns

    def _column(self, header: list[str], name: str) -> int:
        if name not in header and (mark := other_mark(header)) is not None:
            raise BadRatingsFile(
                f"{self._path}, line 1: the columns are separated by {mark}: write the file with commas"
            )
        if name not in header:
            value = " and rating or kind, " if self._kinds else ",rating " if self._rated else " "
            raise BadRatingsFile(
                f"{self._path}, line 1: no column {name!r} among {', '.join(header) or 'none'}: "
                f"the first line must name user,item{value}and may name timestamp"
            )
        return header.index(name)

    def _csv_rows(
        self, reader: Iterator[list[str]], width: int
    ) -> tuple[list[tuple[int, list[str]]], BadRatingsFile | None]:
        """Return the rows of a chunk, or those before a line that is none, and what is wrong with it."""
        rows: list[tuple[int, list[str]]] = []
        begins = self._line + 1
        try:
            for row in islice(reader, self._size):
                if len(row) == width:
                    rows.append((begins, row))
                elif row:
                    says = f"{len(row)} columns where the header has {width}: mend the line"
                    return rows, self._bad(says + self._unclosed(begins), begins)
                begins = self._line + 1
        except csv.Error as error:
            return rows, self._bad(f"{error}: mend the quotes or the line", begins)
        except BadRatingsFile as error:
            return rows, error
        return rows, None

    def _unclosed(self, begins: int) -> str:
        """Return what else may be wrong with a row of several lines."""
        if begins == self._line:
            return ""
        return f" (the row goes on to line {self._line}: is a quote not closed?)"

    # --- NDJSON -------------------------------------------------------------------------------------

    def _json_chunks(self, first: str, lines: Iterator[str]) -> Iterator["_Columns"]:
        decoder = msgspec.json.Decoder(_Row)
        row = self._json_row(decoder, first)
        timed = row.timestamp is not None
        numbers, rows = [1], [row]
        for line in lines:
            if line.strip():
                rows.append(self._json_row(decoder, line))
                numbers.append(self._line)
            if len(rows) == self._size:
                yield self._from_rows(numbers, rows, timed)
                numbers, rows = [], []
        if rows:
            yield self._from_rows(numbers, rows, timed)

    def _json_row(self, decoder: msgspec.json.Decoder[_Row], line: str) -> _Row:
        try:
            return decoder.decode(line)
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            raise self._bad(f'{error}: give {{"user": .., "item": .., "rating": ..}}') from error

    def _from_rows(self, numbers: list[int], rows: list[_Row], timed: bool) -> "_Columns":
        times: list[str] | None = None
        if timed:
            times = ["" if row.timestamp is None else str(row.timestamp) for row in rows]
        return self._columns(
            numbers,
            [str(row.user) for row in rows],
            [str(row.item) for row in rows],
            [str(row.rating) for row in rows],
            times,
        )

    # --- both ---------------------------------------------------------------------------------------

    def _columns(
        self,
        numbers: list[int],
        users: list[str],
        items: list[str],
        ratings: list[str],
        times: list[str] | None = None,
        kinds: list[str] | None = None,
    ) -> "_Columns":
        rating = np.array([*map(_number, ratings)], dtype=np.float64)
        needless = np.array([kinds is not None and text == "" for text in ratings], dtype=np.bool_)
        moments = None if times is None else _moments(times)
        checked = np.where(needless, 0.0, rating)
        for at, problem in sorted(_problems(users, items, ratings, checked, times, moments))[:1]:
            raise self._bad(problem, numbers[at])
        timestamp_ms = None if moments is None else np.rint(moments).astype(np.int64)
        return users, items, rating, kinds, timestamp_ms, numbers[0] if numbers else 0

    def _bad(self, problem: str, line: int | None = None) -> BadRatingsFile:
        return BadRatingsFile(f"{self._path}, line {line or self._line}: {problem}")

    def _says(self, problem: str) -> str:
        return f"{self._path}: {problem}: give a readable CSV or NDJSON file"


_Columns = tuple[list[str], list[str], F64, list[str] | None, I64 | None, int]


def _problems(
    users: list[str],
    items: list[str],
    ratings: list[str],
    rating: F64,
    times: list[str] | None,
    moments: F64 | None,
) -> Iterator[tuple[int, str]]:
    """Yield the first bad row of each column, and what is wrong with it."""
    for name, ids in (("user", users), ("item", items)):
        if "" in ids:
            yield ids.index(""), f"the {name} is empty: give it an id"
    for at in np.flatnonzero(~np.isfinite(rating))[:1].tolist():
        yield at, f"the rating {ratings[at]!r} is not a finite number: mend or remove the line"
    if times is not None and moments is not None:
        for at in np.flatnonzero(~(np.abs(moments) < LATEST_MS))[:1].tolist():
            says = f"the timestamp {times[at]!r} is neither Unix seconds nor RFC 3339 "
            yield at, f"{says}(2026-11-18T12:00:00Z): mend it, or leave the whole column out"


def other_mark(header: Sequence[str]) -> str | None:
    """Return what separates the columns of a file that was taken for a CSV, None if nothing known does."""
    marks = {";": "';'", "\t": "tabs"}
    found = [said for mark, said in marks.items() if any(mark in title for title in header)]
    return found[0] if found else None


def _moments(times: list[str]) -> F64:
    """Return Unix milliseconds, NaN for what is no time."""
    moments = np.array([*map(_seconds, times)], dtype=np.float64)
    moments[np.abs(moments) < MILLISECONDS_FROM] *= 1000.0
    return moments


def _number(text: str) -> float:
    """Return NaN for what is no number."""
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
