import json
from dataclasses import replace

import numpy as np
import pytest

from service.errors import Misconfigured, Superseded
from service.settings import KINDS, Settings
from service.store.jobs.growth import FEWEST_USERS, FIRST
from service.store.jobs.schedule import Schedules
from service.store.log.codec import (
    AWAITED_ANSWER,
    DELETE_ITEM,
    DELETE_RATING,
    DELETE_USER,
    DUPLICATE,
    LEARNED,
    NOT_A_RATING,
)
from service.store.log.state import PartitionState
from tests.feed import NOW_MS, Event, Feed, some_ratings

VIEW, IMPRESSION = KINDS["view"].code, KINDS["impression"].code
HOUR_MS = 3_600_000


def state_of(feed) -> PartitionState:
    return PartitionState.of(feed.client.hgetall(feed.keys.state))


def changes_of(feed) -> list[dict[bytes, bytes]]:
    return [fields for _, fields in feed.client.xrange(feed.keys.changes)]


def test_ratings_enter_the_histories_and_teach_the_experts(learner_of, feed, client):
    learner = learner_of()
    feed.append([Event("ann", "a", 5), Event("bob", "a", 1), Event("ann", "b", 4)])
    assert learner.drain() == 3
    assert feed.history("ann") == [(1, "a", 5.0), (3, "b", 4.0)]
    assert feed.history("bob") == [(2, "a", 1.0)]
    assert client.zrange(feed.keys.users, 0, -1) == [b"ann", b"bob"]
    keys = [b"item:0", b"item:1", b"items", b"online", b"user:ann", b"user:bob"]
    assert sorted(feed.online_state()) == keys
    assert state_of(feed).learned == 3
    assert client.xlen(feed.keys.log) == 0
    assert client.get(feed.keys.log_bytes) == b"0"


def test_other_kinds_enter_the_history_and_teach_nothing(learner_of, feed, client):
    learner = learner_of()
    feed.append([Event("ann", "a", 0, VIEW), Event("ann", "b", 4), Event("eve", "a", 0, VIEW)])
    learner.drain()
    assert feed.history("ann") == [(1, "a", 0.0), (2, "b", 4.0)]
    assert feed.history("eve") == [(3, "a", 0.0)]
    assert sorted(feed.online_state()) == [b"item:1", b"items", b"online", b"user:ann"]
    assert (state_of(feed).learned, state_of(feed).others) == (1, 2)
    assert client.zrange(feed.keys.users, 0, -1) == [b"ann", b"eve"]


def test_impressions_go_to_the_side_stream_only(learner_of, feed, client):
    learner = learner_of()
    feed.append([Event("ann", f"i{n}", 0, IMPRESSION) for n in range(100)])
    learner.drain()
    assert feed.history("ann") == []
    entries = client.xrange(feed.keys.impressions)
    assert [fields[b"u"] for _, fields in entries] == [b"ann", b"ann"]
    assert [len(fields[b"d"]) // 24 for _, fields in entries] == [64, 36]


def test_impressions_count_for_the_schedule_but_make_no_history(learner_of, feed, client):
    learner = learner_of()
    seen = [Event(f"u{n % FEWEST_USERS}", f"i{n % 7}", 0, IMPRESSION) for n in range(FIRST)]
    feed.append(seen)
    learner.drain()
    plan = Schedules(client, Settings(namespace=feed.namespace, retrain_pause_s=0))
    assert plan.new_events(plan.last()) == FIRST
    assert not plan.is_urgent(plan.current(), plan.last())
    feed.append([Event(f"u{n}", "i0", 5) for n in range(FEWEST_USERS)])
    learner.drain()
    assert plan.is_urgent(plan.current(), plan.last())


def test_an_event_id_counts_once_for_each_user(learner_of, feed):
    learner = learner_of()
    rated = [Event("ann", "a", 5, event_id="x"), Event("bob", "a", 5, event_id="x")]
    feed.append([*rated, rated[0]])
    learner.drain()
    feed.append([rated[1], Event("ann", "b", 5)])
    learner.drain()
    assert feed.history("ann") == [(1, "a", 5.0), (5, "b", 5.0)]
    assert feed.history("bob") == [(2, "a", 5.0)]
    assert (state_of(feed).learned, state_of(feed).duplicates) == (3, 2)


def test_a_restarted_learner_remembers_the_event_ids(learner_of, feed):
    first = learner_of()
    feed.append([Event("ann", "a", 5, event_id="x"), Event("ann", "b", 5, event_id="y")])
    first.drain()
    feed.append([Event("ann", "a", 5, event_id="x")])
    learner_of().drain()
    assert feed.history("ann") == [(1, "a", 5.0), (2, "b", 5.0)]


def test_the_window_of_event_ids_is_bounded_in_the_store_too(learner_of, feed, client):
    learner = learner_of(dedupe_window=4)
    for n in range(20):
        feed.append([Event("ann", "a", 5, event_id=f"{n}")])
        learner.drain()
    assert client.llen(feed.keys.dedupe(0)) == 4
    # one entry from a clock that is a day ahead ages nothing by a day
    feed.append([Event("ann", "a", 5, event_id="x")], NOW_MS + 25 * HOUR_MS)
    learner.drain()
    assert client.llen(feed.keys.dedupe(0)) == 4


def test_an_import_evicts_no_id_of_another_producer(learner_of, feed, client):
    app, bulk = b"app.", b"bulk"
    orders = [Event("ann", f"i{n}", 5, event_id=f"o{n}", producer=app) for n in range(40)]
    for n, order in enumerate(orders):
        feed.append([order, Event("bob", "a", 5, event_id=f"{n}", producer=bulk)])
    learner = learner_of(dedupe_window=100)
    learner.drain()
    for part in range(10):
        rows = [(f"{part} {n}", f"i{n % 9}") for n in range(100)]
        feed.append([Event("bob", i, 4, event_id=name, producer=bulk) for name, i in rows])
    learner.drain()
    # now with the keys swapped, in a learner that knows only what is stored
    feed.append([replace(order, producer=bulk) for order in orders])
    restarted = learner_of(dedupe_window=100)
    restarted.drain()
    assert state_of(feed).duplicates == 40
    assert {client.llen(feed.keys.dedupe(number)) for number in (1, 2)} == {40, 1}
    standings = client.hgetall(feed.keys.dedupe_lists)
    assert {standings[b"1"][9:], standings[b"2"][9:]} == {b"40", b"60"}


def test_awaited_events_are_answered_in_the_change_feed(learner_of, feed):
    learner = learner_of()
    feed.append(
        [
            Event("ann", "a", 5, awaited=True, event_id="x"),
            Event("ann", "b", 5),
            Event("ann", "a", 5, awaited=True, event_id="x"),
            Event("ann", "c", 0, VIEW, awaited=True),
            Event("ann", "d", 2, awaited=True),
        ]
    )
    learner.drain()
    (change,) = changes_of(feed)
    answers = np.frombuffer(change[b"p"], AWAITED_ANSWER)
    assert answers["sequence"].tolist() == [1, 3, 4, 5]
    assert answers["status"].tolist() == [LEARNED, DUPLICATE, NOT_A_RATING, LEARNED]
    predicted = answers[answers["status"] == LEARNED]
    assert predicted["rating"][0] == pytest.approx(3, abs=0.2)  # nothing was known
    assert (predicted["low"] <= predicted["rating"]).all()
    assert (predicted["rating"] <= predicted["high"]).all()


def test_the_change_feed_names_what_was_touched(learner_of, feed):
    learner = learner_of()
    feed.append([Event("ann", "a", 5), Event("bob", "b", 0, VIEW)])
    learner.drain()
    feed.append([Event("ann", "a", 5)])
    learner.drain()
    first, second = changes_of(feed)
    assert (first[b"f"], second[b"f"], first[b"e"]) == (b"0", b"2", b"1")
    assert first[b"u"].split(b"\n") == [b"ann", b"bob"]
    assert np.frombuffer(first[b"i"], "<u4").tolist() == [0]


def test_a_commit_of_very_many_users_announces_all(learner_of, feed):
    learner = learner_of()
    feed.append([Event(f"u{n}", "a", 5) for n in range(1_001)])
    learner.drain()
    (change,) = changes_of(feed)
    assert change[b"a"] == b"1"
    assert b"u" not in change


# --- deletions ------------------------------------------------------------------------------------


def test_a_deleted_rating_is_gone_and_later_ones_count(learner_of, feed):
    learner = learner_of()
    feed.append(
        [
            Event("ann", "a", 5),
            Event("ann", "b", 4),
            Event("ann", "a", 0, DELETE_RATING),
            Event("ann", "c", 3),
        ]
    )
    assert learner.drain() == 4
    assert feed.history("ann") == [(2, "b", 4.0), (4, "c", 3.0)]
    assert state_of(feed).deletions == 1


def test_a_deleted_user_leaves_nothing_behind(learner_of, feed, client):
    learner = learner_of()
    feed.append(
        [Event("ann", "a", 5), Event("ann", "b", 0, IMPRESSION), Event("bob", "b", 0, IMPRESSION)]
    )
    feed.append([Event("ann", "a", 0, DELETE_USER)])
    learner.drain()
    assert client.zrange(feed.keys.users, 0, -1) == []
    assert b"user:ann" not in feed.online_state()
    assert [fields[b"u"] for _, fields in client.xrange(feed.keys.impressions)] == [b"bob"]
    feed.append([Event("ann", "a", 2)])
    learner.drain()
    assert feed.history("ann") == [(5, "a", 2.0)]
    assert client.zrange(feed.keys.users, 0, -1) == [b"ann"]


def test_a_deleted_item_starts_over(learner_of, feed, client):
    learner = learner_of()
    feed.append([Event("ann", "a", 5), Event("ann", "b", 1)])
    learner.drain()
    before = feed.online_state()
    feed.append([Event("ann", "a", 0, DELETE_ITEM)])
    learner.drain()
    after = feed.online_state()
    assert {key for key in after if after[key] != before[key]} == {b"item:0"}
    assert client.hgetall(feed.keys.deleted_items) == {b"0": b"3"}


@pytest.mark.parametrize("deletion", [DELETE_RATING, DELETE_ITEM])
def test_a_deletion_leaves_the_same_memory_as_a_restart(learner_of, feed, deletion):
    """A user's ring is a function of the history: a running and a restarted learner agree."""
    ratings = some_ratings(300, users=3, items=8)
    learner = learner_of()
    feed.append(ratings)
    feed.append([Event("u1", "i3", 0, deletion)])
    feed.append(some_ratings(100, users=3, items=8, seed=2))
    learner.step(0)
    learner.step(0)
    learner.settle()
    copies = feed.client.hgetall(feed.keys.state)
    assert int(copies[b"watermark"]) == 301
    learner.drain()
    went_on = feed.online_state()

    other = Feed(feed.client, feed.namespace + "-r")
    for item in sorted(feed.numbers, key=feed.numbers.__getitem__):
        other.number(item)
    other.append(ratings)
    other.append([Event("u1", "i3", 0, deletion)])
    learner_of(other.namespace).drain()
    other.append(some_ratings(100, users=3, items=8, seed=2))
    learner_of(other.namespace).drain()
    assert other.online_state() == went_on


# --- bounds ---------------------------------------------------------------------------------------


def test_a_history_beyond_its_bound_is_compacted(learner_of, feed, client):
    learner = learner_of(history_limit=16)
    feed.append([Event("ann", f"i{n}", 0, VIEW) for n in range(8)])
    feed.append([Event("ann", f"r{n}", 5) for n in range(9)])
    learner.drain()
    kept = [item for _, item, _ in feed.history("ann")]
    assert kept == [*(f"i{n}" for n in range(3, 8)), *(f"r{n}" for n in range(9))]
    trimmed = np.frombuffer(client.get(feed.keys.trimmed("ann")), "<u4")
    assert trimmed.tolist() == [feed.numbers[f"i{n}"] for n in range(3)]
    assert state_of(feed).trimmed_records == 3


@pytest.mark.parametrize("users_in_memory", [64, 32_768])
@pytest.mark.parametrize("commit_max_bytes", [1 << 16, 4 << 20])
@pytest.mark.parametrize("history_limit", [40, 5_000])
def test_batches_and_memory_change_nothing(
    learner_of, feed, users_in_memory, commit_max_bytes, history_limit
):
    events = some_ratings(4_000, users=150, items=60)
    events[::7] = [Event(e.user, e.item, 0, VIEW) for e in events[::7]]
    for number, event in enumerate(events):
        event.event_id = f"{number % 3_900}" if number % 2 else None
    reference = Feed(feed.client, feed.namespace + "-ref")
    for number in range(60):
        assert feed.number(f"i{number}") == reference.number(f"i{number}")
    reference.append(events)
    learner_of(reference.namespace, history_limit=history_limit).drain()

    cuts = np.unique(np.random.default_rng(3).integers(0, 4_000, 60)).tolist()
    for first, end in zip([0, *cuts], [*cuts, 4_000], strict=True):
        if first < end:
            feed.append(events[first:end])
    changed = {"users_in_memory": users_in_memory, "commit_max_bytes": commit_max_bytes}
    learner_of(history_limit=history_limit, **changed).drain()
    assert feed.online_state() == reference.online_state()
    for user in {event.user for event in events}:
        assert feed.history(user) == reference.history(user)
    assert state_of(feed).learned == state_of(reference).learned


# --- who may learn --------------------------------------------------------------------------------


def test_a_learner_that_was_replaced_commits_nothing(learner_of, feed):
    first = learner_of()
    feed.append([Event("ann", "a", 5)])
    second = learner_of()
    with pytest.raises(Superseded):
        first.step(0)
    assert feed.history("ann") == []
    assert second.drain() == 1
    assert feed.history("ann") == [(1, "a", 5.0)]
    assert state_of(feed).epoch == 2


def test_a_learner_that_slept_finds_itself_replaced_not_a_hole_in_the_log(learner_of, feed):
    first = learner_of()
    second = learner_of()
    feed.append([Event("ann", "a", 5)])
    second.drain()
    feed.append([Event("ann", "a", 4)])
    with pytest.raises(Superseded):
        first.step(0)


def test_a_learner_goes_on_where_the_last_one_stopped(learner_of, feed):
    events = some_ratings(400, users=100, items=100)
    feed.append(events[:250])
    first = learner_of(commit_max_bytes=1 << 16)
    first.step(0)
    first.settle()
    assert 0 < state_of(feed).watermark < 250  # inside the entry
    feed.append(events[250:])
    learner_of().drain()
    reference = Feed(feed.client, feed.namespace + "-ref")
    for item in feed.numbers:
        reference.number(item)
    reference.append(events)
    learner_of(reference.namespace).drain()
    assert feed.online_state() == reference.online_state()


def test_other_experts_than_the_stored_rows_stop_the_start(learner_of, feed):
    learner_of().drain()
    with pytest.raises(Misconfigured, match="hedgerow rebuild"):
        learner_of(aggregator="hedge")


def test_histories_without_a_state_stop_the_start(learner_of, feed, client):
    learner = learner_of()
    feed.append([Event("ann", "a", 5)])
    learner.drain()
    client.delete(feed.keys.state)
    with pytest.raises(Misconfigured, match="hedgerow rebuild"):
        learner_of()


def test_a_hole_in_the_log_stops_the_learner(learner_of, feed, client):
    learner = learner_of()
    client.incrby(feed.keys.sequence, 5)
    feed.append([Event("ann", "a", 5)])
    with pytest.raises(Misconfigured, match="lacks events 1 to 5"):
        learner.drain()


# --- reports --------------------------------------------------------------------------------------


def test_the_experts_history_has_a_point_every_thousand_events(learner_of, feed, client):
    learner = learner_of()
    for first in range(0, 2_400, 300):
        feed.append(some_ratings(300, seed=first))
        learner.drain()
    points = client.xrange(feed.keys.expert_history)
    assert [name for name, _ in points] == [b"1200-0", b"2100-0"]
    experts = json.loads(points[0][1][b"d"])["experts"]
    assert [expert["name"] for expert in experts] == list(learner.model.names)
    assert sum(expert["weight"] for expert in experts) == pytest.approx(1)
