"""A service on a real socket, and clients of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.settings import Settings
from tests.api import learning, served
from tests.clients.python.both import CLIENTS, Opened


@pytest.fixture
def settings(namespace: str, tmp_path: Path) -> Settings:
    """Of the service; a busy machine may take its time."""
    return Settings(
        namespace=namespace,
        data_dir=tmp_path,
        wait_timeout_ms=60_000,
        min_sequence_wait_ms=60_000,
    )


@pytest.fixture
def url(settings: Settings, redis_url: str) -> Iterator[str]:
    """The address of a service that learns."""
    with learning(settings, redis_url), served(settings, redis_url) as (host, port):
        yield f"http://{host}:{port}"


@pytest.fixture(params=CLIENTS)
def kind(request: pytest.FixtureRequest) -> str:
    """Which of both clients."""
    kind: str = request.param
    return kind


@pytest.fixture
def client(kind: str, url: str) -> Iterator[Any]:
    """A client of the service."""
    with Opened(kind, url) as client:
        client.wait_until_ready()
        yield client
