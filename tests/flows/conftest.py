"""Fixtures of the flows: short directories, because the path of a socket has at most 107 bytes."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def room() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="hr-") as directory:
        yield Path(directory)
