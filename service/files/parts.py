"""A part of a file on its way to a running service."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class FilePart:
    """Some rows of a file as NDJSON; ``numbers`` are their line numbers in the file."""

    lines: bytes
    numbers: list[int]
    read: float
    """Share of the file that has been read, 0 to 1."""
    faults: list[tuple[int, str]] = field(default_factory=list)
    """(line number, message) of each row that was left out."""
    ignored: tuple[str, ...] = ()
    """Columns or fields of the file that no event has."""
    files: list[str] = field(default_factory=list)
    """The file of each row, if they are of several."""

    def place(self, index: int) -> dict[str, Any]:
        """Return where the row of a part is: its line, and its file if there are several."""
        file = {"file": self.files[index]} if self.files else {}
        return file | {"line": self.numbers[index]}
