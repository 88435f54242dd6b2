"""The one way to open a user's file: plain or gzip, read line by line in bounded memory.

Every reader of a format takes its lines from ``opened`` and reports errors as ``BadFile``, which
names the file, the line and what to do.
"""

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, cast

from service.errors import ServiceError

LONGEST_LINE = 1 << 20
"""Maximum bytes of a line; a longer one is refused instead of read into memory."""
LONGEST_ROW = 1 << 24
"""Maximum bytes of a line in files with many columns."""
BOM = b"\xef\xbb\xbf"
"""The byte order mark that some editors put before the first line."""
GZIP = b"\x1f\x8b"
"""The first bytes of gzip data."""
PARQUET = b"PAR1"
"""The first bytes of a Parquet file."""
LineEnds = Literal["", "\n"]
"""Bytes that end a line: any of LF, CR and CRLF if empty, otherwise LF alone.

A CSV may have any of them, and its reader joins quoted cells again. JSON may have CR as a blank.
"""


class BadFile(ServiceError):
    """A file that cannot be read in its expected format."""

    status, code = 422, "bad_file"

    def __init__(
        self,
        file: Path | str,
        problem: str,
        *,
        line: int | None = None,
        column: str | None = None,
    ) -> None:
        self.file, self.problem, self.line, self.column = file, problem, line, column
        place = "" if line is None else f", line {line}"
        place += "" if column is None else f", column {column}"
        super().__init__(f"{file}{place}: {problem}")

    def again(self, *, file: Path | str | None = None, more: str = "") -> "BadFile":
        """Return the same error with another name of the file, or a longer message."""
        file = self.file if file is None else file
        return BadFile(file, self.problem + more, line=self.line, column=self.column)


class FileLines:
    """The lines of an open file, unpacked and without a byte order mark; iterate once."""

    def __init__(
        self, path: Path, raw: BinaryIO, longest: int, *, form: str, ends: LineEnds
    ) -> None:
        self.number = 0
        """Number of the latest line, from 1."""
        self._path, self._raw, self._longest, self._form = path, raw, longest, form
        self._size = max(os.fstat(raw.fileno()).st_size, 1)
        is_packed = raw.read(len(GZIP)) == GZIP
        raw.seek(0)
        unpacked = cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if is_packed else raw
        # Latin-1 maps each byte to a character and back: the wrapper only splits lines
        self._split = io.TextIOWrapper(unpacked, encoding="latin-1", newline=ends)

    @property
    def read(self) -> float:
        """Share of the file that has been read, 0 to 1."""
        return min(self._raw.tell() / self._size, 1.0)

    def __iter__(self) -> Iterator[bytes]:
        while text := self._split.readline(self._longest + 1):
            line = text.encode("latin-1")
            self.number += 1
            if len(line) > self._longest:
                says = f"the line is longer than {self._longest} bytes: is this the right file?"
                raise self.bad(says)
            yield line.removeprefix(BOM) if self.number == 1 else line
        if self.number == 0:
            raise BadFile(self._path, f"the file is empty: give a readable {self._form}")

    def texts(self) -> Iterator[str]:
        """Yield the lines as text; BadFile for one that is not UTF-8."""
        for line in self:
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                raise self.bad("the text is not UTF-8: convert the file") from error
            yield text

    def bad(self, problem: str, line: int | None = None) -> BadFile:
        """Return the error for a line, by default the latest one."""
        return BadFile(self._path, problem, line=line or self.number)


@contextmanager
def opened(
    path: Path, *, form: str = "file", longest_line: int = LONGEST_LINE, ends: LineEnds = ""
) -> Iterator[FileLines]:
    """Yield the lines of a file; raise BadFile if it cannot be read, also during iteration.

    ``form`` names the expected kind of file in the message.
    """
    try:
        with path.open("rb") as raw:
            yield FileLines(path, raw, longest_line, form=form, ends=ends)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        says = f"the gzip data is cut off or damaged: copy it again, or give a readable {form}"
        raise BadFile(path, says) from error
    except OSError as error:
        says = f"{error.strerror or error}: give a readable {form}"
        raise BadFile(path, says) from error


def is_ndjson(path: Path) -> bool:
    """Return whether the first line that is not blank begins a JSON object."""
    with opened(path) as lines:
        return next((line for line in lines if line.strip()), b"").lstrip().startswith(b"{")


def is_parquet(path: Path) -> bool:
    """Return whether a file is one of Parquet, as its first bytes say; False if there is none."""
    try:
        with path.open("rb") as file:
            return file.read(len(PARQUET)) == PARQUET
    except OSError:
        return False


def filled_lines(path: Path) -> int:
    """Return the number of lines in a file that are not blank."""
    with opened(path) as lines:
        return sum(bool(line.strip()) for line in lines)


def other_separator(header: list[str]) -> str | None:
    """Return the separator of a header without commas, None if there is none that we know."""
    marks = {";": "';'", "\t": "tabs"}
    found = [said for mark, said in marks.items() if any(mark in title for title in header)]
    return found[0] if found else None
