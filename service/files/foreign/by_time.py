"""Events of the files of another system in the order of their times.

What follows what is learned from the order in which events arrive, and a system may have a file
for each kind of event, or one that is in the order of its users.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from typing import Any

import msgspec

from service.files.foreign.tables import Foreign, Line
from service.files.opening import BadFile
from service.files.parts import FilePart
from service.files.rating_cells import MILLISECONDS_FROM


def parts_by_time(given: Foreign, rows: int) -> Iterator[FilePart]:
    """Yield all feedback in parts of so many rows, the oldest first.

    Events without a time come last: they get that of their arrival.
    """
    try:
        # a database without a name is a temporary file, which SQLite also sorts in bounded memory
        with closing(sqlite3.connect("")) as waiting:
            waiting.execute("CREATE TABLE event (time REAL, file TEXT, number INTEGER, said BLOB)")
            waiting.executemany("INSERT INTO event VALUES (?, ?, ?, ?)", _events(given.feedback))
            ignored = tuple({name: None for names in given.ignored.values() for name in names})
            are_several = len(given.feedback) > 1
            found = waiting.execute(
                "SELECT file, number, said FROM event ORDER BY time IS NULL, time, rowid"
            )
            while some := found.fetchmany(rows):
                files, numbers, lines = zip(*some, strict=True)
                named = [*files] if are_several else []
                yield FilePart(b"\n".join(lines), [*numbers], 0.0, ignored=ignored, files=named)
    except sqlite3.Error as error:
        says = f"{error}: make room for it, or name another folder in TMPDIR"
        raise BadFile("the temporary file of the events", says) from error


def _events(
    files: Mapping[str, Iterable[Line]],
) -> Iterator[tuple[float | None, str, int, bytes]]:
    encode = msgspec.json.Encoder().encode
    for file, lines in files.items():
        for number, said in lines:
            yield _seconds(said.get("timestamp")), file, number, encode(said)


def _seconds(timestamp: Any) -> float | None:
    if isinstance(timestamp, str):
        return datetime.fromisoformat(timestamp).timestamp()
    if timestamp is None:
        return None
    return float(timestamp / 1000.0 if abs(timestamp) >= MILLISECONDS_FROM else timestamp)
