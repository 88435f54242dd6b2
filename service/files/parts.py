"""A part of a file on its way to a running service."""

from dataclasses import dataclass, field


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
