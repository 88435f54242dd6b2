"""The learner writes changes of transitions to a journal, and a few rows with each commit."""

from contextlib import closing

import numpy as np
import pytest

from core.errors import DataError
from core.transitions.table import MOST_ROW_BYTES
from service.api.feedback.merges import _entry
from service.learning.learner import Learner, LearnerLimits
from service.learning.rebuild import rebuild
from service.settings import KINDS, Settings
from service.store.log.codec import DELETE_ITEM, DELETE_RATING, DELETE_USER, MOVE_USER, encode
from service.store.namespace import open_namespace
from service.store.profiles.commit_packing import CommitPacking
from tests.feed import NOW_MS, Event, Feed, some_ratings
from tests.stored_transitions import stored

ROUND = 10_000
"""Bytes of a round of the tests, about 300 events."""
DAY_MS = 86_400_000


class Watched(Learner):
    """A learner that notes its commits, and the bytes of the packed ones."""

    def _commit_of(self, *given, **changes):
        commit = super()._commit_of(*given, **changes)
        packing = CommitPacking(self._partition.keys, epoch=1, generation=0)
        self.commits.append((commit, len(packing.pack(commit))))
        return commit


@pytest.fixture
def started(client):
    """Starts a learner with short rounds."""

    def start(namespace, round_bytes=ROUND, **changed):
        settings = Settings(namespace=namespace, **changed)
        opened = open_namespace(client, settings)
        learner = Watched(settings, client, opened, 0, LearnerLimits(round_bytes=round_bytes))
        learner.commits = []
        return closing(learner)

    return start


def a_stream(n, *, seed=1, users=40, items=300):
    events = some_ratings(n, users=users, items=items, seed=seed)
    events[::7] = [Event(e.user, e.item, 0, KINDS["view"].code) for e in events[::7]]
    for number, event in enumerate(events):
        event.time_ms = NOW_MS - (number * 7_919) % 90 * DAY_MS
    return events


def append_all(feed, seed=1):
    """Append events of every kind that changes transitions; batches end at every entry of it."""
    rng = np.random.default_rng(seed)
    events = a_stream(3_000, seed=seed)
    for number, first in enumerate(range(0, len(events), 100)):
        feed.append(events[first : first + 100])
        user, item = f"u{rng.integers(40)}", f"i{rng.integers(300)}"
        if number % 5 == 1:
            feed.append([Event(user, events[first].item, kind=DELETE_RATING)])
        elif number % 5 == 2:
            feed.append([Event("", item, kind=DELETE_ITEM)])
        elif number % 5 == 3:
            feed.append([Event(user, "", kind=DELETE_USER)])
        elif number % 10 == 4:
            feed.merge(user, f"u{rng.integers(40)}")
        elif number % 10 == 9:
            feed.append_packed(encode(_entry((user,), 0, MOVE_USER, 50 * number, NOW_MS)), 1)


def journal(feed, generation=0):
    entries = feed.client.xrange(feed.keys.transition_journal(generation))
    return {int(name.partition(b"-")[0]): fields[b"d"] for name, fields in entries}


@pytest.mark.parametrize("seed", range(3))
def test_stops_at_random_moments_change_no_bit(started, feed, client, namespace, seed):
    append_all(feed, seed)
    with started(namespace, round_bytes=1 << 30) as learner:
        learner.drain()
    other = Feed(client, f"{namespace}-b", process="other")
    append_all(other, seed)
    rng, starts = np.random.default_rng(seed), 0
    small = {"commit_max_bytes": 1 << 16, "users_in_memory": 64}
    while not other.is_learned():
        starts += 1
        # closed with a commit under way: it may be done, or not
        with started(other.namespace, **small) as learner:
            for _ in range(rng.integers(1, 12)):
                learner.step(block_ms=0)
    assert starts > 5
    assert stored(other) == stored(feed)
    assert len(stored(feed)) > 200
    assert len(journal(feed)) > len(journal(other)) > 0


def test_the_journal_and_the_rows_of_a_commit_are_bounded(started, feed, namespace):
    feed.append(a_stream(4_000))
    lengths = []
    with started(namespace, commit_max_bytes=1 << 16) as learner:
        while learner.step(block_ms=0):
            learner.settle()
            lengths.append(sum(map(len, journal(feed).values())))
        commits = [commit for commit, _ in learner.commits]
    longest = max(len(commit.transitions.entry) for commit in commits)
    assert ROUND < max(lengths) <= 2 * ROUND + 2 * longest
    rows = [len(commit.transitions.rows.items) for commit in commits]
    assert 0 < max(rows) * MOST_ROW_BYTES <= 1 << 15
    assert sum(rows) > 1_000


def test_restarts_do_not_lengthen_the_journal(started, feed, namespace):
    feed.append(a_stream(4_000))
    lengths, longest = [], 0
    while not feed.is_learned():
        with started(namespace, commit_max_bytes=1 << 16) as learner:
            for _ in range(3):
                learner.step(block_ms=0)
            learner.settle()
            longest = max(longest, *(len(c.transitions.entry) for c, _ in learner.commits))
        lengths.append(sum(map(len, journal(feed).values())))
    assert len(lengths) > 10
    # a commit writes half of its bytes in rows at most, the next ones write the rest
    assert max(lengths) <= 3 * ROUND + 2 * longest


@pytest.mark.parametrize("users", [3, 400])
@pytest.mark.parametrize("limit", [1 << 16, 1 << 18])
def test_a_commit_keeps_to_its_bytes(started, feed, namespace, users, limit):
    events = a_stream(5_000, users=users, items=1_000)
    for number, event in enumerate(events):
        event.event_id, event.awaited = f"{number}", number % 3 == 0
        event.user += "ä" * (number % 2 * 120)
    for first in range(0, len(events), 1_000):
        feed.append(events[first : first + 1_000])
    with started(namespace, commit_max_bytes=limit, history_limit=10_000) as learner:
        learner.drain()
        sizes = [size for _, size in learner.commits]
    assert limit / 3 < max(sizes) <= limit


def test_a_deletion_with_a_full_journal_is_a_small_commit(started, feed, namespace):
    feed.append(a_stream(4_000, users=2))
    with started(namespace, round_bytes=1 << 30) as learner:
        learner.drain()
    before = stored(feed)
    assert sum(map(len, journal(feed).values())) > 4_000 * 20
    feed.append([Event("", "i7", kind=DELETE_ITEM), Event("u0", "", kind=DELETE_USER)])
    with started(namespace, round_bytes=1 << 30) as learner:
        learner.drain()
        (_, of_item), (_, of_user) = learner.commits
    assert of_item < 10_000 < sum(map(len, before.values()))
    assert of_user < 20_000 + 2_000 * 30
    other = Feed(feed.client, f"{namespace}-b", process="other")
    other.append(a_stream(4_000, users=2))
    other.append([Event("", "i7", kind=DELETE_ITEM), Event("u0", "", kind=DELETE_USER)])
    with started(other.namespace, round_bytes=2_000) as learner:
        learner.drain()
    assert stored(feed) == stored(other) != before


def test_rows_of_an_earlier_version_are_read_and_completed(started, feed, client, namespace):
    events = a_stream(2_000)
    feed.append(events[:1_000])
    with started(namespace) as learner:
        learner.drain()
    # an earlier version wrote each row whole, without a sequence, and no journal
    rows = {item: row[:-6] for item, row in stored(feed).items()}
    client.delete(feed.keys.transitions(0), feed.keys.transition_journal(0))
    client.hset(feed.keys.transitions(0), mapping=rows)
    feed.append(events[1_000:])
    with started(namespace) as learner:
        learner.drain()
    other = Feed(client, f"{namespace}-b", process="other")
    other.append(events)
    with started(other.namespace) as learner:
        learner.drain()
    assert stored(feed) == stored(other)


def test_a_rebuild_leaves_no_journal_and_a_learner_goes_on(started, feed, redis_url, namespace):
    events = a_stream(3_000)
    feed.append(events[:2_000])
    with started(namespace) as learner:
        learner.drain()
    before = stored(feed)
    # what a rebuild that had lost its number left
    feed.client.hset(feed.keys.transitions(1), "99", b"left")
    feed.client.xadd(feed.keys.transition_journal(1), {"d": b"left"})
    rebuild(Settings(namespace=namespace), redis_url)
    assert feed.client.exists(*(feed.keys.transition_journal(number) for number in (0, 1))) == 0
    assert stored(feed) == before
    feed.append(events[2_000:])
    with started(namespace) as learner:
        learner.drain()
    (report,) = rebuild(Settings(namespace=namespace), redis_url, into=namespace + "-2")
    assert report.differences == []
    assert journal(feed, generation=1)


def test_a_damaged_journal_names_the_cure(started, feed, namespace):
    feed.append(a_stream(100))
    with started(namespace) as learner:
        learner.drain()
    feed.client.xadd(feed.keys.transition_journal(0), {"d": b"damaged"}, id="200-0")
    with pytest.raises(DataError, match="hedgerow rebuild"):
        started(namespace)
