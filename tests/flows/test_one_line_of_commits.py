"""Commits form one line, with two learners at once and with one that slept past its lease."""

import signal
from contextlib import ExitStack

import pytest

from service.processes.commands import SUPERSEDED
from service.settings import Settings
from service.store.connection import connect
from service.store.log.lease import Lease
from tests.feed import Feed, Writer
from tests.flows.roles import Role
from tests.server import wait_until

pytestmark = pytest.mark.flow


@pytest.fixture
def story(room, redis_url, namespace):
    """Run two learners on one partition while ratings arrive; yield feed, learners and writer."""
    settings = Settings(namespace=namespace, redis_url=redis_url, lease_ms=1_000)
    with ExitStack() as stack:
        client = stack.enter_context(connect(redis_url, role="test"))
        feed = Feed(client, namespace)
        roles = [Role(room, f"learner-{n}", settings, "learner") for n in range(2)]
        for role in roles:
            stack.enter_context(role)
        writer = Writer(redis_url, namespace)
        stack.callback(writer.join)
        stack.callback(writer.stop.set)
        writer.start()
        wait_until(lambda: feed.watermark > 0)
        yield feed, roles, writer


def leader_of(feed, roles):
    """Wait for the learner of the current epoch and return it."""

    def leaders():
        return [role for role in roles if role.alive and logged(role, feed.epoch)]

    wait_until(leaders)
    (leader,) = leaders()
    return leader


def logged(role, epoch):
    """Return whether a learner has logged that it learns in this epoch."""
    return f'"epoch": {epoch},' in role.log


def assert_one_line(feed) -> None:
    """Assert that each commit follows the one before it, and that epochs never decrease."""
    changes = [
        (int(name.split(b"-")[0]), int(fields[b"f"]), int(fields[b"e"]))
        for name, fields in feed.client.xrange(feed.keys.changes)
    ]
    watermarks, follows, epochs = zip(*changes, strict=True)
    assert follows == (0, *watermarks[:-1])
    assert list(epochs) == sorted(epochs)
    recorded = sum(feed.client.strlen(feed.keys.history(f"u{n}")) // 24 for n in range(20))
    assert recorded == feed.watermark


def test_the_second_learner_stands_by_until_the_first_is_gone(story):
    feed, roles, writer = story
    leader = leader_of(feed, roles)
    epoch = feed.epoch
    leader.stop()
    wait_until(lambda: feed.epoch > epoch)
    seen = feed.watermark
    wait_until(lambda: feed.watermark > seen)
    writer.stop.set()
    writer.join()
    wait_until(feed.is_learned)
    assert_one_line(feed)


def test_a_learner_that_slept_past_its_lease_commits_no_more(story):
    feed, roles, writer = story
    leader = leader_of(feed, roles)
    epoch = feed.epoch
    leader.send(signal.SIGSTOP)
    wait_until(lambda: feed.epoch > epoch)
    seen = feed.watermark
    wait_until(lambda: feed.watermark > seen)
    leader.send(signal.SIGCONT)
    assert leader.wait() == SUPERSEDED
    writer.stop.set()
    writer.join()
    wait_until(feed.is_learned)
    assert_one_line(feed)


def test_learners_whose_lease_is_taken_stop_and_others_go_on(story):
    feed, roles, writer = story
    thief = Lease(feed.client, feed.keys.lease, 60_000)
    for _ in range(3):
        epoch = feed.epoch
        thief.seize()
        # another learner may have ended already: on a busy machine leases run out by themselves
        wait_until(lambda last=epoch: feed.epoch > last or has_ended(roles, last))
        thief.release()
        wait_until(lambda last=epoch: all_run(roles) and feed.epoch > last)
    writer.stop.set()
    writer.join()
    wait_until(feed.is_learned)
    assert_one_line(feed)


def has_ended(roles, epoch):
    """Return whether the learner of this epoch has ended."""
    return any(logged(role, epoch) and not role.alive for role in roles)


def all_run(roles):
    for role in roles:
        role.revive()
    return True
