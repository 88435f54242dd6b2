"""CSV files of features of users and items, and of links between users, plain or gzip."""

import csv
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from core.features import EncoderFit
from core.types import I64
from service.files.opening import LONGEST_ROW, BadFile, FileLines, opened, other_separator

Rows = list[dict[str, Any]]
"""Features by name."""


def read_features(path: Path, named: str, numbers: dict[str, int]) -> sp.csr_array:
    """Return one row of features in 0..1 for each of ``numbers``, see ``read_rows``."""
    return encoded(read_rows(path, named, numbers))


def encoded(rows: Rows) -> sp.csr_array:
    """Return features as columns of numbers in 0..1."""
    fit = EncoderFit(np.random.default_rng(0))
    fit.add(rows)
    return fit.encoder().transform(rows)


def read_rows(path: Path, named: str, numbers: dict[str, int]) -> Rows:
    """Return the features of each of ``numbers``; other rows are left out.

    The column ``named`` (user or item) holds the ids. Other columns are features: numbers, texts,
    or several texts joined by |. An empty cell is not a feature.
    """
    documents: Rows = [{} for _ in numbers]
    any_known = False
    for row in table_rows(path, named):
        if (at := numbers.get(row[named])) is not None:
            any_known = True
            documents[at] = {
                name: feature_value(text) for name, text in row.items() if name != named and text
            }
    if not any_known:
        raise BadFile(path, f"no row has the id of a known {named}: check the ids")
    return documents


def read_links(path: Path, numbers: dict[str, int]) -> I64:
    """Return the links (n, 2) among ``numbers`` from two columns, such as user and friend."""
    links = []
    for row in table_rows(path, "user"):
        if len(row) != 2:
            says = f"{','.join(row)}: a link has the column user and one more, such as friend: "
            raise BadFile(path, says + "remove other columns, links have no weights", line=1)
        ends = numbers.get(row["user"]), numbers.get(next(v for k, v in row.items() if k != "user"))
        if None not in ends:
            links.append(ends)
    if not links:
        raise BadFile(path, "no link joins two users of the training file: check the ids")
    return np.array(links, np.int64)


def table_rows(path: Path, *named: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV whose header has one of ``named`` and at least one more; BadFile."""
    with opened(path, form="CSV file", longest_line=LONGEST_ROW) as lines:
        texts = lines.texts()
        first = next(texts)
        # as in files of ratings: if the header has blanks after commas, rows may have them too
        blanks = ", " in first
        reader = csv.DictReader(chain([first], texts), strict=True, skipinitialspace=blanks)
        try:
            yield from _checked(reader, lines, named)
        except csv.Error as error:
            raise lines.bad(f"{error}: correct the quotes or the line") from error


def _checked(
    reader: "csv.DictReader[str]", lines: FileLines, named: Sequence[str]
) -> Iterator[dict[str, str]]:
    header = reader.fieldnames = [name.strip() for name in reader.fieldnames or []]
    is_named = any(name in header for name in named)
    if not is_named and (mark := other_separator(header)) is not None:
        raise lines.bad(f"the columns are separated by {mark}: write the file with commas")
    if not is_named or len(header) < 2:
        raise lines.bad(
            f"the first line must name {' or '.join(named)} and at least one more column, "
            f"not {','.join(header) or 'nothing'}"
        )
    for row in reader:
        if None in row or None in row.values():
            says = f"not {len(header)} columns as the header has: correct the line"
            raise lines.bad(says, reader.line_num)
        yield row


def whole(value: Any) -> Any:
    """Return a number without a fraction as an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def feature_value(text: str) -> float | str | list[str]:
    """Return the value of a cell: a number, a list of the texts joined by |, or a text."""
    try:
        number = float(text)
    except ValueError:
        return text.split("|") if "|" in text else text
    return number if np.isfinite(number) else text
