"""Fixtures of the tests of the HTTP side."""

from collections.abc import Iterator

import pytest

from service.settings import Settings
from tests.api import Api, learning


@pytest.fixture
def api(redis_url: str, namespace: str) -> Iterator[Api]:
    """The application, with nobody learning; so it does not wait long for that."""
    with Api(Settings(namespace=namespace, wait_timeout_ms=50), redis_url) as api:
        yield api


@pytest.fixture
def learned_api(redis_url: str, namespace: str) -> Iterator[Api]:
    """The application, with a learner beside it."""
    settings = Settings(namespace=namespace)
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        yield api
