"""Fixtures of the stories: short directories, because the path of a socket may have 107 bytes only."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def room() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="hr-") as directory:
        yield Path(directory)
