"""Ratings in files: CSV or NDJSON, plain or gzip, read in bounded memory.

A CSV needs a header with ``user,item,rating`` and may have ``timestamp``; NDJSON has fields of the
same names. A CSV of feedback may have ``kind`` as well as or instead of ``rating``. Other columns
are ignored. Timestamps are Unix seconds (from 1e11 up: milliseconds) or RFC 3339.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from core.types import F64, I64
from service.files.opening import BadFile, FileLines, opened
from service.files.rating_cells import Cells, RatingChunk, checked
from service.files.rating_csv import ReadOptions, csv_chunks

CHUNK = 50_000
"""Rows read at a time."""


@dataclass(frozen=True)
class Ratings:
    """A whole file: ``user_ix`` and ``item_ix`` number the ids in order of appearance."""

    user_ids: list[str]
    item_ids: list[str]
    user_ix: I64
    item_ix: I64
    rating: F64
    timestamp_ms: I64 | None
    of_sessions: bool = False
    """Whether the users are sessions."""


class _Row(msgspec.Struct):
    user: str | int
    item: str | int
    rating: float
    timestamp: float | str | None = None


def read_chunks(
    path: Path,
    size: int = CHUNK,
    *,
    rated: bool = True,
    kinds: bool = False,
    ordered: bool = False,
) -> Iterator[RatingChunk]:
    """Yield the ratings of a file in its order, ``size`` at a time; at least one, or BadFile.

    With ``kinds`` a CSV may name a column ``kind``; then ratings may be empty or missing. If
    ``ordered``, a CSV may name ``session`` instead of ``user``, and needs ``timestamp`` or
    ``position``.
    """
    n = 0
    with opened(path, form="CSV or NDJSON file") as lines:
        for chunk in _chunks(lines, ReadOptions(size, rated, kinds, ordered)):
            n += len(chunk.users)
            yield chunk
    if n == 0:
        raise BadFile(path, "no ratings: give at least one row below the header")


def read_ratings(
    path: Path,
    on_read: Callable[[float], None] = lambda read: None,
    *,
    rated: bool = True,
    ordered: bool = False,
) -> Ratings:
    """Return all ratings of a file; ``on_read`` is called with the share read so far, 0 to 1.

    Unless ``rated``, a CSV may come without ratings: then all are 1. ``ordered`` as in
    ``read_chunks``.
    """
    users: dict[str, int] = {}
    items: dict[str, int] = {}
    parts = []
    for chunk in read_chunks(path, rated=rated, ordered=ordered):
        user_ix = [users.setdefault(user, len(users)) for user in chunk.users]
        item_ix = [items.setdefault(item, len(items)) for item in chunk.items]
        parts.append((_i64(user_ix), _i64(item_ix), chunk.rating, chunk.timestamp_ms))
        on_read(chunk.read)
    times = [part[3] for part in parts if part[3] is not None]
    return Ratings(
        user_ids=list(users),
        item_ids=list(items),
        user_ix=np.concatenate([part[0] for part in parts]),
        item_ix=np.concatenate([part[1] for part in parts]),
        rating=np.concatenate([part[2] for part in parts]),
        timestamp_ms=np.concatenate(times) if times else None,
        of_sessions=chunk.of_sessions,
    )


def _i64(values: list[int]) -> I64:
    return np.array(values, dtype=np.int64)


def _chunks(lines: FileLines, wanted: ReadOptions) -> Iterator[RatingChunk]:
    texts = lines.texts()
    first = next(texts)
    if first.lstrip().startswith("{"):
        return _json_chunks(first, texts, lines, wanted.rows)
    return csv_chunks(first, texts, lines, wanted)


def _json_chunks(
    first: str, texts: Iterator[str], lines: FileLines, most: int
) -> Iterator[RatingChunk]:
    decode = msgspec.json.Decoder(_Row).decode
    rows = [_json_row(decode, first, lines)]
    numbers, timed = [1], rows[0].timestamp is not None
    for text in texts:
        if text.strip():
            rows.append(_json_row(decode, text, lines))
            numbers.append(lines.number)
        if len(rows) == most:
            yield checked(_cells(numbers, rows, timed), lines)
            numbers, rows = [], []
    if rows:
        yield checked(_cells(numbers, rows, timed), lines)


def _json_row(decode: Callable[[str], _Row], text: str, lines: FileLines) -> _Row:
    try:
        return decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise lines.bad(f'{error}: give {{"user": .., "item": .., "rating": ..}}') from error


def _cells(numbers: list[int], rows: list[_Row], timed: bool) -> Cells:
    return Cells(
        lines=numbers,
        users=[str(row.user) for row in rows],
        items=[str(row.item) for row in rows],
        ratings=[str(row.rating) for row in rows],
        times=["" if row.timestamp is None else str(row.timestamp) for row in rows]
        if timed
        else None,
    )
