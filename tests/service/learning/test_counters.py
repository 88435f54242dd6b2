import numpy as np
import pytest

from core.popularity import popular, trending
from service.learning.learner import Learner
from service.learning.rebuild import rebuild
from service.settings import KINDS, Settings
from service.store.log.codec import DELETE_ITEM, DELETE_RATING, DELETE_USER
from service.store.log.state import read_state
from service.store.namespace import open_namespace
from service.store.profiles.counters import read_counts
from tests.feed import NOW_MS, Event, Feed, some_ratings

VIEW, DISLIKE = KINDS["view"].code, KINDS["dislike"].code
DAY_MS = 86_400_000


def counts(feed):
    generation = read_state(feed.client, feed.keys).generation
    return read_counts(feed.client, feed.keys.counts(generation))


def totals(feed) -> dict[str, float]:
    rows = counts(feed)
    return {item: float(rows[n, 0]) for item, n in feed.numbers.items() if n < len(rows)}


def a_stream(n=2_000):
    events = some_ratings(n)
    events[::7] = [Event(e.user, e.item, 0, VIEW) for e in events[::7]]
    for number, event in enumerate(events):
        event.time_ms = NOW_MS - (number * 7_919) % (90 * DAY_MS)
    return events


def test_positives_count_by_their_weight(learner_of, feed):
    learner = learner_of()
    feed.append([Event("ann", "a", 5), Event("bob", "a", 4), Event("bob", "b", 3)])
    feed.append([Event("eve", "b", 0, VIEW), Event("eve", "c", 0, DISLIKE), Event("eve", "d", 5)])
    learner.drain()
    assert totals(feed) == {"a": 2.0, "b": pytest.approx(0.2), "c": 0.0, "d": 1.0}


def test_an_event_counts_half_after_the_half_life(learner_of, feed):
    learner = learner_of(trending_half_life_h=24)
    feed.append([Event(user, "a", 5, time_ms=NOW_MS - 2 * DAY_MS) for user in ("ann", "bob")])
    feed.append([Event("ann", "b", 5)])
    learner.drain()
    items, score = trending(counts(feed), DAY_MS)
    assert [feed.number("b"), feed.number("a")] == items.tolist()
    assert score.tolist() == [1.0, 0.5]
    assert popular(counts(feed))[0][0] == feed.number("a")


def test_counters_do_not_depend_on_batches_and_survive_a_restart(
    learner_of, feed, client, namespace
):
    other = Feed(client, f"{namespace}-b", process="other")
    events = a_stream()
    feed.append(events)
    learner_of().drain()
    settings = Settings(namespace=other.namespace)
    for first in range(0, len(events), 130):
        other.append(events[first : first + 130])
        learner = Learner(settings, client, open_namespace(client, settings), 0)
        learner.drain()
        learner.close()
    assert np.array_equal(counts(feed), counts(other))


@pytest.mark.parametrize("kind", [DELETE_RATING, DELETE_USER])
def test_deleted_events_no_longer_count(learner_of, feed, kind):
    learner = learner_of()
    feed.append([Event("ann", "a", 5), Event("bob", "a", 5), Event("ann", "a", 0, VIEW)])
    feed.append([Event("ann", "a", kind=kind)])
    feed.append([Event("ann", "b", 5)])
    learner.drain()
    assert totals(feed) == pytest.approx({"a": 1.0, "b": 1.0})


def test_a_deleted_item_counts_from_nothing_again(learner_of, feed):
    learner = learner_of()
    feed.append([Event("ann", "a", 5), Event("bob", "a", 5)])
    feed.append([Event("", "a", kind=DELETE_ITEM)])
    feed.append([Event("eve", "a", 5), Event("ann", "a", kind=DELETE_RATING)])
    learner.drain()
    assert totals(feed) == {"a": 1.0}


def test_a_rebuild_counts_the_same(learner_of, feed, redis_url, namespace):
    feed.append(a_stream())
    learner_of().drain()
    before = counts(feed)
    (report,) = rebuild(Settings(namespace=namespace), redis_url)
    assert report.generation == 1
    assert np.array_equal(counts(feed), before)
    assert feed.client.exists(feed.keys.counts(0)) == 0
