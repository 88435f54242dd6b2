"""What importers of foreign files share: rows with their places, and parts of them to send."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from service.files.opening import BadFile
from service.files.parts import FilePart

Line = tuple[int, dict[str, Any]]
"""The number of a line, and what it says as our routes take it."""
MOST_TEXT = 1_000
"""Characters of a feature that is a text; more are left out."""
MOST_TEXTS = 100
"""Texts of a feature that is a list; more are left out."""
CATEGORIES = {"genre", "genres", "class", "category", "categories"}
"""Columns of items that are categories, if they are lists."""


@dataclass(frozen=True)
class Foreign:
    """The rows of some files of another system; what a system does not have is empty."""

    items: Iterable[Line] = ()
    users: Iterable[Line] = ()
    feedback: Mapping[str, Iterable[Line]] = field(default_factory=dict)
    """The rows of each file, by what it is called: "feedback" if there can be but one."""
    ignored: Mapping[str, Mapping[str, None]] = field(default_factory=dict)
    """Columns of these files that no event has, as far as the rows have been read."""


def parts_of(lines: Iterable[Line], rows: int) -> Iterator[FilePart]:
    """Yield lines in parts of so many rows, for ``send_parts``."""
    encode, left = msgspec.json.Encoder().encode_lines, iter(lines)
    while some := list(islice(left, rows)):
        numbers = [number for number, _ in some]
        lines_of_json = encode([said for _, said in some])
        yield FilePart(lines_of_json, numbers, 0.0)


def rows_of(
    path: Path, separator: str, n: int, *, encoding: str = "utf-8"
) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the cells of each line that is not blank; BadFile for one with fewer than ``n``."""
    try:
        with path.open(encoding=encoding, newline="\n") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                cells = line.rstrip("\r\n").split(separator)
                if len(cells) < n:
                    says = f"the line has {len(cells)} columns, not {n}: is this the right file?"
                    raise BadFile(path, says, line=number)
                yield number, cells
    except UnicodeDecodeError as error:
        raise BadFile(path, "the text is not UTF-8: convert the file") from error
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> BadFile:
    """Return what stands for a file that cannot be opened or read."""
    return BadFile(path, f"{error.strerror or error}: give a readable file")


def number_of(path: Path, line: int, text: str) -> float:
    """Return a cell that is a number; BadFile for another."""
    try:
        return float(text)
    except ValueError:
        raise BadFile(path, f"{text[:50]!r} is not a number", line=line) from None
