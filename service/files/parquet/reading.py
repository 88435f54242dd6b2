"""The rows of a Parquet file as our routes take them, a batch at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from service.files.opening import BadFile

Row = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """Consecutive rows; ``first`` is the number of the first of them, from 1."""

    first: int
    rows: list[Row]
    """As pyarrow gives them; see ``plain``."""
    read: float
    """Share of the file that has been read with them, 0 to 1."""


def column_names(path: Path) -> list[str]:
    """Return the names of the columns; BadFile if there are two of a name."""
    with _opened(path) as file:
        names: list[str] = file.schema_arrow.names
    for name in names:
        if names.count(name) > 1:
            raise BadFile(path, "there are two columns of this name: rename one", column=name)
    return names


def read_rows(path: Path, size: int, columns: Sequence[str] | None = None) -> Iterator[Rows]:
    """Yield the rows of a file, with these columns or all."""
    n = 0
    with _opened(path) as file:
        total = max(file.metadata.num_rows, 1)
        try:
            for batch in file.iter_batches(batch_size=size, columns=columns):
                rows = _in_microseconds(batch).to_pylist(maps_as_pydicts="lossy")
                first, n = n + 1, n + len(rows)
                yield Rows(first, rows, n / total)
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            says = f"the rows from {n + 1} on cannot be read ({_short(error)}): write the file anew"
            raise BadFile(path, says) from error


def _opened(path: Path) -> Any:
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise BadFile(path, f"{_short(error)}: give a readable Parquet file") from error


def _short(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__


def _in_microseconds(batch: Any) -> Any:
    """Return a batch without nanoseconds, which Python's times do not have."""
    fields = [
        field.with_type(pa.timestamp("us", field.type.tz)) if _is_finer(field.type) else field
        for field in batch.schema
    ]
    return batch.cast(pa.schema(fields), safe=False)


def _is_finer(kind: Any) -> bool:
    return bool(pa.types.is_timestamp(kind)) and kind.unit == "ns"


def plain(row: Row) -> Row:
    """Return a row as JSON has it; ValueError names a column that is no text.

    A cell that is empty, or not a finite number, is left out.
    """
    filled = {}
    for name, value in row.items():
        try:
            if (said := _plain(value)) is not None:
                filled[_plain(name)] = said
        except UnicodeDecodeError as error:
            says = f"{name} is not text in UTF-8: convert the column, or leave it out"
            raise ValueError(says) from error
    return filled


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; a time without a zone is one of UTC."""
    match value:
        case datetime():
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
        case date():
            return value.isoformat()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case float():
            return value if isfinite(value) else None
        case list():
            return [_plain(one) for one in value]
        case dict():
            return plain(value)
        case bytes():
            # texts of older writers are not marked as such
            return value.decode()
        case UUID():
            return str(value)
        case _:
            return value
