"""The set of experts changes while ratings arrive: the old learner stops, a new one goes on."""

from contextlib import ExitStack

import pytest

from service.learning.rebuild import rebuild
from service.processes.commands import REFUSED, SUPERSEDED
from service.settings import Settings
from service.store.connection import connect
from tests.feed import Feed, Writer
from tests.flows.roles import Role
from tests.server import wait_until

pytestmark = pytest.mark.flow


def test_the_set_of_experts_changes_while_ratings_arrive(room, redis_url, namespace):
    old = Settings(namespace=namespace, redis_url=redis_url)
    new = old.model_copy(update={"experts": "paper", "aggregator": "hedge"})
    with ExitStack() as stack:
        feed = Feed(stack.enter_context(connect(redis_url, role="test")), namespace)
        learner = stack.enter_context(Role(room, "old", old, "learner"))
        writer = Writer(redis_url, namespace)
        stack.callback(writer.join)
        stack.callback(writer.stop.set)
        writer.start()
        wait_until(lambda: feed.watermark > 200)
        rebuild(new, redis_url)
        assert learner.wait() == SUPERSEDED
        # with the old settings it refuses to run and says what to do
        learner.start()
        assert learner.wait() == REFUSED
        assert "hedgerow rebuild" in learner.log
        swapped = feed.watermark
        stack.enter_context(Role(room, "new", new, "learner"))
        wait_until(lambda: feed.watermark > swapped + 200)
        writer.stop.set()
        writer.join()
        wait_until(feed.is_learned)
        recorded = sum(feed.client.strlen(feed.keys.history(f"u{n}")) // 24 for n in range(20))
        assert recorded == feed.watermark
        (report,) = rebuild(new, redis_url, into=namespace + "-2")
        assert report.differences == []
