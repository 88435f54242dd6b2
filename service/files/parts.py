"""A part of a file on its way to a running service."""

from dataclasses import dataclass, field


@dataclass
class Part:
    """Some rows of a file: ``lines`` NDJSON for the api, ``numbers`` where each stands in the file."""

    lines: bytes
    numbers: list[int]
    read: float
    """How much of the file has been read, 0..1."""
    faults: list[tuple[int, str]] = field(default_factory=list)
    """(line of the file, what is wrong) of rows that were left out."""
