"""The learner counts which items follow which with every event, exactly once."""

import numpy as np
import pytest

from core.online.tables import RECENT
from core.transitions.table import REACH, Transitions
from service.api.feedback.merges import _entry
from service.learning.learner import Learner
from service.learning.rebuild import rebuild
from service.learning.state.rows import STEPS_READ
from service.settings import KINDS, Settings
from service.store.log.codec import DELETE_ITEM, DELETE_RATING, DELETE_USER, MOVE_USER, encode
from service.store.log.state import read_state
from service.store.namespace import open_namespace
from tests.core import reference_transitions as naive
from tests.feed import NOW_MS, Event, Feed, some_ratings
from tests.stored_transitions import stored

VIEW, PURCHASE = KINDS["view"], KINDS["purchase"]
HALF_LIFE_MS = Settings().order_half_life_h * 3_600_000


def pairs(feed) -> dict[tuple[str, str], float]:
    """Return the stored weight of each (item before, item)."""
    rows, names = stored(feed), {number: item for item, number in feed.numbers.items()}
    table = Transitions(HALF_LIFE_MS)
    table.unpack(list(rows), list(rows.values()))
    found = table.entries(np.arange(table.n_items))
    after = np.repeat(np.arange(table.n_items), found.n).tolist()
    entries = zip(found.before.tolist(), after, found.weight.tolist(), strict=True)
    return {(names[a], names[b]): weight for a, b, weight in entries}


def a_stream(n=2_000):
    events = some_ratings(n, users=100)
    events[::7] = [Event(e.user, e.item, 0, VIEW.code) for e in events[::7]]
    for number, event in enumerate(events):
        event.time_ms = NOW_MS - (number * 7_919) % (90 * 86_400_000)
    return events


def weight_of(event):
    return VIEW.weight if event.kind == VIEW.code else 1.0


def test_events_of_every_kind_are_steps_by_their_weight(learner_of, feed):
    learner = learner_of()
    feed.append([Event("ann", "a", 1), Event("ann", "b", 0, VIEW.code), Event("bob", "a", 5)])
    feed.append([Event("bob", "b", 0, PURCHASE.code), Event("bob", "c", 5)])
    learner.drain()
    assert pairs(feed) == pytest.approx(
        {("a", "b"): VIEW.weight + PURCHASE.weight, ("b", "c"): 1.0, ("a", "c"): 0.5}
    )


def test_they_are_those_of_a_naive_count(learner_of, feed):
    events = a_stream(400)
    learner_of().drain()
    feed.append(events)
    learner_of().drain()
    rows = [(e.user, e.item, weight_of(e), e.time_ms) for e in events]
    expected, _ = naive.follow(rows, HALF_LIFE_MS, reach=REACH)
    assert pairs(feed) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("history_limit", [16, 5_000])
def test_they_do_not_depend_on_batches_restarts_or_users_in_memory(
    learner_of, feed, client, namespace, history_limit
):
    other = Feed(client, f"{namespace}-b", process="other")
    events = a_stream()
    feed.append(events)
    learner_of(history_limit=history_limit).drain()
    changed = {"users_in_memory": 64, "history_limit": history_limit}
    settings = Settings(namespace=other.namespace, **changed)
    for first in range(0, len(events), 130):
        other.append(events[first : first + 130])
        learner = Learner(settings, client, open_namespace(client, settings), 0)
        learner.drain()
        learner.close()
    assert stored(feed) == stored(other)
    assert len(stored(feed)) > 10


def test_nothing_is_left_of_a_deleted_user(learner_of, feed):
    learner = learner_of()
    feed.append([Event("ann", "a", 5), Event("ann", "b", 5), Event("ann", "c", 5)])
    feed.append([Event("bob", "b", 5), Event("bob", "c", 5)])
    feed.append([Event("ann", "", kind=DELETE_USER)])
    learner.drain()
    assert pairs(feed) == pytest.approx({("b", "c"): 1.0})


def test_a_deleted_rating_leaves_the_steps_around_it(learner_of, feed):
    learner = learner_of()
    feed.append([Event("ann", item, 5) for item in "abcd"])
    feed.append([Event("ann", "b", kind=DELETE_RATING)])
    feed.append([Event("ann", "e", 5)])
    learner.drain()
    assert pairs(feed) == pytest.approx(
        {
            ("a", "c"): 1.0,
            ("c", "d"): 1.0,
            ("a", "d"): 0.5,
            ("d", "e"): 1.0,
            ("c", "e"): 0.5,
            ("a", "e"): 1 / 3,
        }
    )


@pytest.mark.parametrize("seed", range(3))
def test_deleted_ratings_leave_what_a_naive_count_of_the_rest_gives(learner_of, feed, seed):
    rng = np.random.default_rng(seed)
    # runs of equal items and returns to earlier ones, longer than what a step follows
    items = np.repeat(rng.integers(0, 12, 60), rng.integers(1, 5, 60)).tolist()
    events = [Event(user, f"i{item}", 5) for user in ("ann", "bob") for item in items]
    feed.append([*events, *(Event("ann", f"i{item}", kind=DELETE_RATING) for item in (3, 5))])
    learner_of().drain()
    left = [e for e in events if e.user == "bob" or e.item not in {"i3", "i5"}]
    expected, _ = naive.follow(
        [(e.user, e.item, 1.0, NOW_MS) for e in left], HALF_LIFE_MS, reach=REACH
    )
    found = pairs(feed)
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, rel=1e-3)


def test_a_deleted_item_neither_follows_nor_is_followed(learner_of, feed):
    learner = learner_of()
    feed.append([Event("ann", item, 5) for item in "abc"])
    feed.append([Event("", "b", kind=DELETE_ITEM)])
    feed.append([Event("ann", "d", 5), Event("bob", "d", 5), Event("bob", "b", 5)])
    learner.drain()
    # what is left of the pair (a, c) was counted at its distance
    expected = {("a", "c"): 0.5, ("c", "d"): 1.0, ("a", "d"): 0.5, ("d", "b"): 1.0}
    assert pairs(feed) == pytest.approx(expected)


def test_a_deleted_item_leaves_the_latest_items_of_those_who_only_viewed_it(learner_of, feed):
    learner = learner_of()
    feed.append([Event("ann", item, 0, VIEW.code) for item in "abc"])
    feed.append([Event("", "b", kind=DELETE_ITEM)])
    feed.append([Event("ann", "d", 5)])
    learner.drain()
    after_d = {pair: weight for pair, weight in pairs(feed).items() if pair[1] == "d"}
    assert after_d == pytest.approx({("c", "d"): 1.0, ("a", "d"): 0.5})


def test_steps_are_found_behind_many_repeated_ones(learner_of, feed):
    feed.append([Event("ann", item, 5) for item in "abc"])
    feed.append([Event("ann", "d", 5) for _ in range(max(RECENT, STEPS_READ))])
    learner_of().drain()
    feed.append([Event("ann", "e", 5)])
    learner_of().drain()
    after_e = {before: weight for (before, after), weight in pairs(feed).items() if after == "e"}
    assert after_e == pytest.approx({"d": 1.0, "c": 1 / 2, "b": 1 / 3, "a": 1 / 4})


def test_a_merge_counts_the_steps_in_their_common_order(learner_of, feed):
    learner = learner_of()
    feed.append([Event("ann", "a", 5), Event("bob", "b", 5), Event("ann", "c", 5)])
    feed.merge("ann", "bob")
    feed.append([Event("bob", "d", 5)])
    learner.drain()
    expected, _ = naive.follow(
        [("bob", item, 1.0, NOW_MS) for item in "abcd"], HALF_LIFE_MS, reach=REACH
    )
    assert pairs(feed) == pytest.approx(expected)
    feed.append([Event("bob", "", kind=DELETE_USER)])
    learner.drain()
    assert pairs(feed) == {}


def test_events_that_moved_to_another_partition_are_taken_back(learner_of, feed):
    learner = learner_of()
    feed.append([Event("ann", item, 5) for item in "abc"])
    feed.append_packed(encode(_entry(("ann",), 0, MOVE_USER, 2, NOW_MS)), 1)
    feed.append([Event("ann", "d", 5)])
    learner.drain()
    assert pairs(feed) == pytest.approx({("c", "d"): 1.0})


def test_a_rebuild_counts_the_same_bits(learner_of, feed, redis_url, namespace):
    feed.append(a_stream())
    learner_of().drain()
    before = stored(feed)
    (report,) = rebuild(Settings(namespace=namespace, users_in_memory=64), redis_url)
    assert report.generation == 1
    assert stored(feed) == before
    assert feed.client.exists(feed.keys.transitions(0)) == 0


def test_a_rebuild_into_a_second_namespace_names_the_rows_that_differ(
    learner_of, feed, redis_url, namespace
):
    feed.append([Event("ann", item, 5) for item in "abc"])
    learner_of().drain()
    feed.client.xtrim(feed.keys.transition_journal(0), maxlen=0)
    (report,) = rebuild(Settings(namespace=namespace), redis_url, into=namespace + "-2")
    assert report.differences == [f"transitions {feed.numbers[item]}" for item in "abc"]


def test_views_alone_are_counted_by_a_rebuild(learner_of, feed, redis_url, namespace):
    feed.append([Event("ann", item, 0, VIEW.code) for item in "abc"])
    learner_of().drain()
    before = stored(feed)
    rebuild(Settings(namespace=namespace), redis_url)
    assert stored(feed) == before
    assert len(pairs(feed)) == 3


def test_an_item_deleted_during_a_rebuild_is_in_no_pair(learner_of, feed, redis_url, namespace):
    feed.append([Event(user, item, 5) for user in ("ann", "bob") for item in "abcd"])
    learner = learner_of()
    learner.drain()

    def delete(phase: str, *_: int) -> None:
        if phase == "learning":
            feed.append([Event("", "b", kind=DELETE_ITEM)])
            learner.drain()

    rebuild(Settings(namespace=namespace), redis_url, progress=delete)
    assert {item for pair in pairs(feed) for item in pair} == set("acd")
    assert pairs(feed)["c", "d"] == pytest.approx(2.0)


REWRITES = {
    "a deleted user": lambda feed: feed.append([Event("ann", "", kind=DELETE_USER)]),
    "a deleted rating": lambda feed: feed.append([Event("bob", "b", kind=DELETE_RATING)]),
    "a merge": lambda feed: feed.merge("ann", "bob"),
    "a move": lambda feed: feed.append_packed(encode(_entry(("ann",), 0, MOVE_USER, 3, NOW_MS)), 1),
}


@pytest.mark.parametrize("rewrite", REWRITES.values(), ids=REWRITES)
def test_a_rebuild_counts_nothing_that_was_removed_or_moved_meanwhile(
    learner_of, feed, redis_url, namespace, rewrite
):
    feed.append([Event(user, item, 5) for item in "abcd" for user in ("ann", "bob")])
    learner, done = learner_of(), []
    learner.drain()

    def meanwhile(phase: str, *_: int) -> None:
        if phase == "learning" and not done:
            done.append(rewrite(feed))
            feed.append([Event("bob", "e", 5)])
            learner.drain()

    def counted() -> tuple[dict[int, bytes], bytes | None]:
        generation = read_state(feed.client, feed.keys).generation
        return stored(feed), feed.client.get(feed.keys.counts(generation))

    rebuild(Settings(namespace=namespace), redis_url, progress=meanwhile)
    found = counted()
    assert done
    rebuild(Settings(namespace=namespace), redis_url)
    assert counted() == found
