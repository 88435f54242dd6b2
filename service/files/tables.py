"""A table of numbers with a header line: CSV, plain or gzip."""

import csv
import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.types import F64
from service.files.opening import LONGEST_ROW, BadFile, opened


@dataclass(frozen=True)
class Table:
    """``features`` (n, d) f64, named by ``columns``, and ``target`` (n,) f64."""

    columns: tuple[str, ...]
    features: F64
    target: F64


def read_table(path: Path, target: str, ignored: Sequence[str] = ()) -> Table:
    """Return the target's column of a file and all other columns that are not ignored."""
    with opened(path, longest_line=LONGEST_ROW) as lines:
        try:
            return _read(path, csv.reader(lines.texts()), target, ignored)
        except csv.Error as error:
            raise lines.bad(f"not a CSV ({error}): correct the line") from error


def _read(path: Path, rows: Iterator[list[str]], target: str, ignored: Sequence[str]) -> Table:
    names = [name.strip() for name in next(rows, [])]
    if unknown := [name for name in (target, *ignored) if name not in names]:
        says = f"no column {', '.join(unknown)}; the columns are {', '.join(names) or 'none'}"
        raise BadFile(path, says)
    kept = [at for at, name in enumerate(names) if name != target and name not in ignored]
    if not kept or target in ignored:
        raise BadFile(path, "leave the target and at least one other column: ignore fewer")
    wanted = [names.index(target), *kept]
    # 8 bytes a number: lists of Python's floats would take 32
    numbers = array("d")
    for line, row in enumerate(rows, start=2):
        if row:
            numbers.extend(_numbers(path, line, row, wanted, names))
    table = np.frombuffer(numbers, dtype=np.float64).reshape(-1, len(wanted))
    if len(table) == 0:
        raise BadFile(path, "no rows: give at least one below the header")
    columns = tuple(names[at] for at in kept)
    return Table(columns, np.ascontiguousarray(table[:, 1:]), table[:, 0].copy())


def _numbers(
    path: Path, line: int, row: list[str], wanted: list[int], names: list[str]
) -> list[float]:
    if len(row) != len(names):
        says = f"{len(row)} cells, the header has {len(names)}: correct the line"
        raise BadFile(path, says, line=line)
    numbers = []
    for at in wanted:
        try:
            value = float(row[at])
        except ValueError:
            value = float("nan")
        if not math.isfinite(value):
            says = f"{row[at]!r} is not a finite number: correct it, or leave the column out with"
            raise BadFile(path, f"{says} --ignore {names[at]}", line=line, column=names[at])
        numbers.append(value)
    return numbers
