"""Fixtures of every test: one private real server for each worker process, one namespace for each test."""

import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.server import PrivateServer

# the first call of a kernel may compile it, and our machines are shared: no deadlines
settings.register_profile("hedgerow", deadline=None)
settings.load_profile("hedgerow")


@pytest.fixture
def private_server() -> Iterator[PrivateServer]:
    """An own durable server for tests that kill it (the directory is short: 108 bytes a socket)."""
    with tempfile.TemporaryDirectory(prefix="hr-") as directory:
        server = PrivateServer(Path(directory), "--appendonly", "yes", "--appendfsync", "always")
        server.start()
        yield server
        server.kill()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    """URL of the server that the tests of this worker share."""
    with tempfile.TemporaryDirectory(prefix="hr-") as directory:
        server = PrivateServer(Path(directory), "--maxmemory-policy", "noeviction")
        server.start()
        yield server.url
        server.kill()


@pytest.fixture
def redis_url(redis_server: str) -> str:
    """URL of the shared server; keep to a namespace of your own, never FLUSH it."""
    return redis_server


@pytest.fixture
def namespace() -> str:
    """A namespace name that no other test uses."""
    return f"t-{uuid.uuid4().hex[:12]}"
