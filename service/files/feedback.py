"""Files of feedback for `hedgerow import`: like ratings files, and also other kinds of feedback.

A CSV is read by ``ratings_file`` (its first bad line ends it; whether a row has a rating or a kind the api checks). NDJSON may carry everything that
``POST /v1/ratings`` takes; ids may be numbers and times Unix seconds; bad lines are reported and left out.
"""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import BinaryIO, cast

import msgspec
import numpy as np

from service.files.ratings import (
    LONGEST_LINE,
    MILLISECONDS_FROM,
    BadRatingsFile,
    RatingChunk,
    read_chunks,
)

ROWS = 50_000
"""Rows of one part."""
BOM = b"\xef\xbb\xbf"
"""What some editors put before the first line."""


class Line(msgspec.Struct, omit_defaults=True):
    """One event as the api takes it."""

    user: str
    item: str
    rating: float | None = None
    kind: str | None = None
    timestamp: str | None = None
    event_id: str | None = None
    rec_id: str | None = None


class _Loose(msgspec.Struct):
    """One event as files hold it; other fields are ignored."""

    user: str | int
    item: str | int
    rating: float | None = None
    kind: str | None = None
    timestamp: float | str | None = None
    event_id: str | None = None
    rec_id: str | None = None

    def line(self) -> Line:
        return Line(
            user=str(self.user),
            item=str(self.item),
            rating=self.rating,
            kind=self.kind,
            timestamp=_time(self.timestamp),
            event_id=self.event_id,
            rec_id=self.rec_id,
        )


@dataclass
class Part:
    """Some rows of a file: ``lines`` NDJSON for the api, ``numbers`` where each stands in the file."""

    lines: bytes
    numbers: list[int]
    read: float
    """How much of the file has been read, 0..1."""
    faults: list[tuple[int, str]] = field(default_factory=list)
    """(line of the file, what is wrong) of rows that were left out."""


def read_parts(path: Path, rows: int = ROWS) -> Iterator[Part]:
    """Yield a file in parts of ``rows``; BadRatingsFile when it cannot be read at all."""
    if is_ndjson(path):
        yield from _ndjson_parts(path, rows)
    else:
        encode = msgspec.json.Encoder().encode_lines
        for chunk in read_chunks(path, rows, kinds=True):
            # a quoted line break in a CSV shifts the numbers: they are a help for people, no more
            numbers = [chunk.first_line + n for n in range(len(chunk.users))]
            yield Part(encode(_rows(chunk)), numbers, chunk.read)


def _rows(chunk: RatingChunk) -> list[Line]:
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
    return [*map(Line, chunk.users, chunk.items, ratings, kinds, times)]


def _time(given: float | str | None) -> str | None:
    if given is None or isinstance(given, str):
        return given
    seconds = given / 1000.0 if abs(given) >= MILLISECONDS_FROM else given
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def is_ndjson(path: Path) -> bool:
    """Whether the first line that is not empty begins as an object does."""
    for line in file_lines(path):
        if line.strip():
            return line.removeprefix(BOM).lstrip().startswith(b"{")
    return False


def _ndjson_parts(path: Path, rows: int) -> Iterator[Part]:
    decode = msgspec.json.Decoder(_Loose).decode
    encode = msgspec.json.Encoder().encode_lines
    good: list[Line] = []
    part = Part(b"", [], 0.0)
    total = max(path.stat().st_size, 1)
    with path.open("rb") as raw:
        for number, line in enumerate(_unpacked(path, raw), 1):
            try:
                text = line.removeprefix(BOM) if number == 1 else line
                if text.strip():
                    good.append(decode(text).line())
                    part.numbers.append(number)
            except (msgspec.DecodeError, UnicodeDecodeError, ValueError, OverflowError) as error:
                part.faults.append((number, str(error)[:200]))
            if len(good) + len(part.faults) >= rows:
                part.lines, part.read = encode(good), min(raw.tell() / total, 1.0)
                yield part
                good, part = [], Part(b"", [], 0.0)
    part.lines, part.read = encode(good), 1.0
    yield part


def file_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a plain or gzip file; BadRatingsFile says why it cannot be read."""
    try:
        with path.open("rb") as raw:
            yield from _unpacked(path, raw)
    except OSError as error:
        raise BadRatingsFile(f"{path}: {error.strerror or error}: give a readable file") from error


def _unpacked(path: Path, raw: BinaryIO) -> Iterator[bytes]:
    packed = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    stream = cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if packed else raw
    try:
        while line := stream.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                raise BadRatingsFile(f"{path}: a line is longer than {LONGEST_LINE} bytes")
            yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadRatingsFile(f"{path}: the gzip data is cut off or damaged") from error
