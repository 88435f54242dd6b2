import pytest

from service.learner import Learner
from service.settings import Settings
from service.store.connection import connect
from service.store.namespace import open_namespace
from tests.feed import Event, Feed


@pytest.fixture
def client(redis_url):
    with connect(redis_url, role="test") as client:
        yield client


@pytest.fixture
def feed(client, namespace):
    return Feed(client, namespace)


@pytest.fixture
def learner_of(client, namespace):
    """Start a learner with some settings; a second one takes over from the first."""
    learners = []

    def start(**changed):
        settings = Settings(namespace=namespace, **changed)
        learners.append(Learner(settings, client, open_namespace(client, settings), 0))
        return learners[-1]

    yield start
    for learner in learners:
        learner.close()


def test_ratings_enter_the_histories_and_teach_the_experts(learner_of, feed, client):
    learner = learner_of()
    feed.append([Event("ann", "a", 5), Event("bob", "a", 1), Event("ann", "b", 4)])
    assert learner.drain() == 3
    assert feed.history("ann") == [(1, "a", 5.0), (3, "b", 4.0)]
    assert feed.history("bob") == [(2, "a", 1.0)]
    assert client.zrange(feed.keys.users, 0, -1) == [b"ann", b"bob"]
    state = feed.online_state()
    assert sorted(state) == [b"item:0", b"item:1", b"items", b"online", b"user:ann", b"user:bob"]
    assert client.hget(feed.keys.state, "learned") == b"3"
    assert client.xlen(feed.keys.log) == 0
    assert client.get(feed.keys.log_bytes) == b"0"
