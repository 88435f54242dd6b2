"""An application with a learner: what Gorse's clients write is learned before they read it."""

from collections.abc import Iterator

import pytest

from service.settings import Settings
from tests.api import Api, learning


@pytest.fixture
def api(redis_url: str, namespace: str) -> Iterator[Api]:
    settings = Settings(namespace=namespace, partitions=2, wait_timeout_ms=60_000)
    with Api(settings, redis_url) as application, learning(application.settings, redis_url):
        application.ready()
        yield application
