"""Fixtures of all tests: a real server for each worker process, a namespace for each test."""

import gc
import os
import tempfile
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import redis
from hypothesis import settings

from tests.server import PrivateServer
from tests.shares import in_shares

# read when the first parallel kernel runs: threads that wait by spinning take 50 times as long
# beside a busy neighbour
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# which places new items get depends on the hour; tests of them set a share themselves
os.environ.setdefault("HEDGEROW_EXPLORATION_SHARE", "0")

# a store that waits for a processor, or for a shared disk, is not away; tests of outages say so
os.environ.setdefault("HEDGEROW_STORE_PATIENCE_MS", "5000")

# the first call of a kernel may compile it, and our machines are shared: no deadlines
settings.register_profile("hedgerow", deadline=None)
settings.load_profile("hedgerow")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among modules and tests: all of them stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let every worker begin with tests of several processes: they are the long ones."""

    def block(item: pytest.Item) -> Path | None:
        return item.path if item.get_closest_marker("flow") else None

    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = in_shares(items, workers, block)


@pytest.fixture
def private_server() -> Iterator[PrivateServer]:
    """A durable server of its own, for tests that kill it."""
    with tempfile.TemporaryDirectory() as directory, PrivateServer(Path(directory)) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    """URL of the server that the tests of this worker share."""
    with tempfile.TemporaryDirectory() as directory, PrivateServer(Path(directory), "os") as server:
        with redis.Redis.from_url(server.url) as client:
            # nothing here outlives the tests: no file, no rewriting of it
            client.config_set("appendonly", "no")
        yield server.url


@pytest.fixture
def redis_url(redis_server: str) -> str:
    """URL of the shared server; keep to a namespace of your own, never FLUSH it."""
    return redis_server


@pytest.fixture
def namespace() -> str:
    """A namespace name that no other test uses."""
    return f"t-{uuid.uuid4().hex[:12]}"
