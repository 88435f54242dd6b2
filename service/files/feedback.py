"""Files of feedback for `hedgerow import`: like ratings files, and also other kinds of feedback.

A CSV is read as ratings are: its first bad line ends it, and the api checks whether each row has
a rating or a kind. NDJSON may contain everything that ``POST /v1/events`` accepts, ids may be
numbers and times Unix seconds; bad lines are reported and left out. The rows of a Parquet file are
like lines of NDJSON.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from service.extras import load
from service.files.features import whole
from service.files.opening import BadFile, is_ndjson, is_parquet, opened
from service.files.parts import FilePart
from service.files.rating_cells import MILLISECONDS_FROM, RatingChunk
from service.files.ratings import read_chunks

ROWS = 50_000
"""Rows in a part."""


class FeedbackLine(msgspec.Struct, omit_defaults=True):
    """One event in the form of the api."""

    user: str
    item: str
    rating: float | None = None
    kind: str | None = None
    timestamp: str | None = None
    event_id: str | None = None
    rec_id: str | None = None
    context: dict[str, str] | None = None


class _Loose(msgspec.Struct):
    """One event in a file; other fields are left out, and named."""

    user: str | int
    item: str | int
    rating: float | None = None
    kind: str | None = None
    timestamp: float | str | None = None
    event_id: str | None = None
    rec_id: str | None = None
    context: dict[str, str] | None = None

    @classmethod
    def of(cls, row: dict[str, Any]) -> "_Loose":
        """Return a row of a Parquet file; ValueError if it is no event."""
        # pandas makes a column of whole numbers with gaps one of floats
        ids = {name: whole(row[name]) for name in ("user", "item") if name in row}
        return msgspec.convert(row | ids, cls)

    @classmethod
    def read(cls, text: bytes, ignored: dict[str, None]) -> "_Loose":
        """Parse a line, and add the names of fields that no event has to ``ignored``."""
        try:
            return _decode_strict(text)
        except msgspec.ValidationError:
            row = _decode(text)
        ignored.update(dict.fromkeys(_decode_any(text).keys() - set(cls.__struct_fields__)))
        return row

    def line(self) -> FeedbackLine:
        return FeedbackLine(
            user=str(self.user),
            item=str(self.item),
            rating=self.rating,
            kind=self.kind,
            timestamp=_time(self.timestamp),
            event_id=self.event_id,
            rec_id=self.rec_id,
            context=self.context,
        )


class _Strict(_Loose, forbid_unknown_fields=True):
    """One event in a file that has no other fields."""


_decode_strict = msgspec.json.Decoder(_Strict).decode
_decode = msgspec.json.Decoder(_Loose).decode
_decode_any = msgspec.json.Decoder(dict[str, Any]).decode


def read_parts(path: Path, rows: int = ROWS) -> Iterator[FilePart]:
    """Yield a file in parts of ``rows``; BadFile if it cannot be read."""
    if is_parquet(path):
        yield from _parquet_parts(path, rows)
    elif is_ndjson(path):
        yield from _ndjson_parts(path, rows)
    else:
        encode = msgspec.json.Encoder().encode_lines
        for chunk in read_chunks(path, rows, kinds=True):
            # a quoted line break shifts the numbers, which only help people to find the line
            numbers = [chunk.first_line + n for n in range(len(chunk.users))]
            yield FilePart(encode(_rows(chunk)), numbers, chunk.read, ignored=chunk.ignored)


def _rows(chunk: RatingChunk) -> list[FeedbackLine]:
    n = len(chunk.users)
    times: list[str | None] = [None] * n
    if chunk.timestamp_ms is not None:
        moments = chunk.timestamp_ms.astype("datetime64[ms]")
        times = np.datetime_as_string(moments, unit="ms", timezone="UTC").tolist()
    ratings: list[float | None] = chunk.rating.tolist()
    kinds: list[str | None] = [None] * n
    if chunk.kinds is not None:
        ratings = [None if isnan(rating) else rating for rating in chunk.rating.tolist()]
        kinds = [kind or None for kind in chunk.kinds]
    columns = zip(chunk.users, chunk.items, ratings, kinds, times, strict=True)
    return [
        FeedbackLine(user=user, item=item, rating=rating, kind=kind, timestamp=time)
        for user, item, rating, kind, time in columns
    ]


def _time(given: float | str | None) -> str | None:
    if given is None or isinstance(given, str):
        return given
    seconds = given / 1000.0 if abs(given) >= MILLISECONDS_FROM else given
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _ndjson_parts(path: Path, rows: int) -> Iterator[FilePart]:
    encode = msgspec.json.Encoder().encode_lines
    good: list[FeedbackLine] = []
    part = FilePart(b"", [], 0.0)
    ignored: dict[str, None] = {}
    with opened(path, ends="\n") as lines:
        for line in lines:
            try:
                if line.strip():
                    good.append(_Loose.read(line, ignored).line())
                    part.numbers.append(lines.number)
            except (msgspec.DecodeError, UnicodeDecodeError, ValueError, OverflowError) as error:
                part.faults.append((lines.number, str(error)[:200]))
            if len(good) + len(part.faults) >= rows:
                part.lines, part.read, part.ignored = encode(good), lines.read, tuple(ignored)
                yield part
                good, part = [], FilePart(b"", [], 0.0)
    part.lines, part.read, part.ignored = encode(good), 1.0, tuple(ignored)
    yield part


def _parquet_parts(path: Path, rows: int) -> Iterator[FilePart]:
    encode = msgspec.json.Encoder().encode_lines
    reading = load("service.files.parquet.reading", extra="parquet", for_what=f"to read {path}")
    names = reading.column_names(path)
    missing = [name for name in ("user", "item") if name not in names]
    if missing or not {"rating", "kind"} & {*names}:
        says = "feedback needs the columns user, item and rating or kind; these are"
        raise BadFile(path, f"{says} {', '.join(names) or 'none'}")
    read = [name for name in names if name in _Loose.__struct_fields__]
    ignored = tuple(name for name in names if name not in read)
    for some in reading.read_rows(path, rows, read):
        part, good = FilePart(b"", [], some.read, ignored=ignored), []
        for number, row in enumerate(some.rows, some.first):
            try:
                good.append(_Loose.of(reading.plain(row)).line())
                part.numbers.append(number)
            except (ValueError, OverflowError) as error:
                part.faults.append((number, str(error)[:200]))
        part.lines = encode(good)
        yield part
