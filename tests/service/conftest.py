"""Fixtures of the service's tests: a store and its content, learners, and the API."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis

from service.learning.learner import Learner, LearnerLimits
from service.settings import Settings
from service.store.connection import connect
from service.store.namespace import open_namespace
from tests.api import Api, learning
from tests.feed import Feed
from tests.service.shop import opened


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    """A connection to the shared server."""
    with connect(redis_url, role="test") as client:
        yield client


@pytest.fixture
def feed(client: redis.Redis, namespace: str) -> Feed:
    """Appends to the log of a new namespace."""
    return Feed(client, namespace)


@pytest.fixture
def learner_of(client: redis.Redis, namespace: str) -> Iterator[Callable[..., Learner]]:
    """Starts a learner with some settings; a second one takes over from the first."""
    learners: list[Learner] = []

    def start(namespace: str = namespace, **changed: Any) -> Learner:
        settings = Settings(namespace=namespace, **changed)
        learners.append(Learner(settings, client, open_namespace(client, settings), 0))
        return learners[-1]

    yield start
    for learner in learners:
        learner.close()


@pytest.fixture
def eager(namespace: str, tmp_path: Path) -> Settings:
    """Settings of ``eager_learner``, whose follower judges every positive."""
    return Settings(
        namespace=namespace, data_dir=tmp_path, online_snapshot_s=1e-9, judged_per_s=1e9
    )


@pytest.fixture
def eager_learner(client: redis.Redis, eager: Settings) -> Iterator[Learner]:
    """A learner whose follower gets a view after every batch."""
    namespace = open_namespace(client, eager)
    with closing(Learner(eager, client, namespace, 0, LearnerLimits(view_share=1e9))) as learner:
        yield learner


@pytest.fixture
def api(redis_url: str, namespace: str, tmp_path: Path) -> Iterator[Api]:
    """The application without a learner, and with a short wait for one."""
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


@pytest.fixture
def shop(learned_api: Api) -> Api:
    """A shop where ada likes i3 and i5 and dislikes i7."""
    return opened(learned_api)
