"""A table of numbers with a header line: CSV, plain or gzip. Every error names the file, the place and what to do."""

import csv
import gzip
import math
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast

import numpy as np

from core.types import F64
from service.errors import ServiceError


class BadTable(ServiceError):
    """The file cannot be read as a table of numbers."""

    status, code = 422, "bad_table"


@dataclass(frozen=True)
class Table:
    """``features`` (n, d) f64, named by ``columns``, and ``target`` (n,) f64."""

    columns: tuple[str, ...]
    features: F64
    target: F64


def read_table(path: Path, target: str, ignored: Sequence[str] = ()) -> Table:
    """Return the columns of a file: the target's, and all others but those ignored."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with _opened(path, packed) as lines:
            return _read(path, csv.reader(lines), target, ignored)
    except OSError as error:
        raise BadTable(f"{path}: {error.strerror or error}: give a readable file") from error
    except (EOFError, zlib.error) as error:
        raise BadTable(f"{path}: the gzip data is cut off or damaged: copy it again") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadTable(f"{path}: not a CSV in UTF-8 ({error})") from error


def _opened(path: Path, packed: bool) -> TextIO:
    if packed:
        return cast("TextIO", gzip.open(path, "rt", newline="", encoding="utf-8-sig"))
    return path.open(newline="", encoding="utf-8-sig")


def _read(path: Path, rows: Iterator[list[str]], target: str, ignored: Sequence[str]) -> Table:
    names = [name.strip() for name in next(rows, [])]
    if unknown := [name for name in (target, *ignored) if name not in names]:
        raise BadTable(
            f"{path}: no column {', '.join(unknown)}; the columns are {', '.join(names) or 'none'}"
        )
    kept = [at for at, name in enumerate(names) if name != target and name not in ignored]
    if not kept or target in ignored:
        raise BadTable(f"{path}: leave the target and at least one other column: ignore fewer")
    wanted = [names.index(target), *kept]
    # 8 bytes a number: lists of Python's floats would take 32
    numbers = array("d")
    for line, row in enumerate(rows, start=2):
        if row:
            numbers.extend(_numbers(path, line, row, wanted, names))
    table = np.frombuffer(numbers, dtype=np.float64).reshape(-1, len(wanted))
    if len(table) == 0:
        raise BadTable(f"{path}: no rows: give at least one below the header")
    columns = tuple(names[at] for at in kept)
    return Table(columns, np.ascontiguousarray(table[:, 1:]), table[:, 0].copy())


def _numbers(
    path: Path, line: int, row: list[str], wanted: list[int], names: list[str]
) -> list[float]:
    if len(row) != len(names):
        raise BadTable(
            f"{path}, line {line}: {len(row)} cells, the header has {len(names)}: mend the line"
        )
    found = []
    for at in wanted:
        try:
            value = float(row[at])
        except ValueError:
            value = float("nan")
        if not math.isfinite(value):
            raise BadTable(
                f"{path}, line {line}, column {names[at]}: {row[at]!r} is not a finite number: "
                f"mend it, or leave the column out with --ignore {names[at]}"
            )
        found.append(value)
    return found
