"""Fixtures of the tests of the HTTP side."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.settings import Settings
from tests.api import Api, learning


@pytest.fixture
def api(redis_url: str, namespace: str, tmp_path: Path) -> Iterator[Api]:
    """The application, with nobody learning; so it does not wait long for that."""
    settings = Settings(namespace=namespace, data_dir=tmp_path, wait_timeout_ms=50)
    with Api(settings, redis_url) as api:
        yield api


@pytest.fixture
def learned_api(redis_url: str, namespace: str, tmp_path: Path) -> Iterator[Api]:
    """The application, with a learner beside it; a busy machine may take its time."""
    settings = Settings(
        namespace=namespace,
        data_dir=tmp_path,
        wait_timeout_ms=60_000,
        min_sequence_wait_ms=60_000,
    )
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        yield api
