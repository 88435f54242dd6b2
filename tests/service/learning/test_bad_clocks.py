"""One event of 2099 changes nothing: it is refused, and what is stored of such events heals."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from core.meaning import EventMeanings
from core.popularity import RECENT, TIME, TOTAL, WIDTH, trending
from core.transitions.table import Transitions
from service.learning.rebuild import rebuild
from service.learning.state.horizon import Horizon
from service.serving.copies.popularity import Popularity
from service.settings import Settings
from service.store.connection import connect_async
from service.store.keys import PartitionKeys
from service.store.log.codec import DELETE_RATING
from service.store.profiles.counters import CountsReader, read_counts
from service.store.profiles.history_reader import Histories
from service.store.profiles.history_record import read_history, records
from service.training.data.cuts import Times
from tests.api import check_problem
from tests.feed import NOW_MS, Event, Feed, some_ratings
from tests.stored_transitions import stored

DAY_MS = 86_400_000
IN_2099_MS = 4_070_908_800_000
HALF_LIFE_MS = Settings().order_half_life_h * 3_600_000


def usual(n: int = 300) -> list[Event]:
    """Return ratings of the month before now, newest last."""
    events = some_ratings(n)
    for at, event in enumerate(events):
        event.time_ms = NOW_MS - (n - at) * 30 * DAY_MS // n
    return events


def learned(client, namespace: str, learner_of, events: list[list[Event]]) -> Feed:
    """Let a new learner of a namespace learn entries of events."""
    feed = Feed(client, namespace).with_items(40)
    for entry in events:
        feed.append(entry)
    learner_of(namespace).drain()
    return feed


def counts(feed: Feed) -> np.ndarray:
    rows = read_counts(feed.client, feed.keys.counts(0))
    return np.concatenate([rows, np.zeros((40 - len(rows), WIDTH))])


def row_times(feed: Feed) -> dict[int, float]:
    """Return the time to which the transitions of each item refer."""
    rows, table = stored(feed), Transitions(HALF_LIFE_MS)
    table.unpack(list(rows), list(rows.values()))
    return {item: float(table.row_ms[item]) for item in rows}


@pytest.mark.parametrize("ahead", [timedelta(days=1, minutes=1), timedelta(days=365 * 70)])
def test_an_event_of_the_future_is_refused(learned_api, ahead):
    moment = (datetime.now(UTC) + ahead).isoformat()
    bad = {"user": "ada", "item": "i1", "kind": "view", "timestamp": moment}
    good = bad | {"timestamp": (datetime.now(UTC) + timedelta(hours=23)).isoformat()}
    problem = check_problem(learned_api("POST", "/v1/ratings", json=bad), 422, "future_timestamp")
    assert "ahead of the service's clock" in problem["detail"]
    answer = learned_api("POST", "/v1/ratings", json=[good, bad, good]).json()
    assert (answer["accepted"], [one["index"] for one in answer["rejected"]]) == (2, [1])
    assert answer["rejected"][0]["code"] == "future_timestamp"


def test_rows_of_a_stream_are_refused_by_the_same_rule(learned_api):
    rows = [
        b'{"user":"ada","item":"i%d","rating":4,"timestamp":"%d-01-01T00:00:00Z"}' % (n, year)
        for n, year in enumerate((2020, 2099, 2021))
    ]
    headers = {"content-type": "application/x-ndjson"}
    body = b"\n".join(rows)
    answer = learned_api("POST", "/v1/ratings/stream", content=body, headers=headers).json()
    assert answer["accepted"] == 2
    assert [one["code"] for one in answer["rejected"]] == ["future_timestamp"]


def test_a_stored_event_of_the_future_changes_no_other_item(learner_of, client, namespace):
    bad = Event("u3", "i39", 5.0, time_ms=IN_2099_MS)
    at_arrival = Event("u3", "i39", 5.0, time_ms=NOW_MS)
    first, second = usual(200), usual(300)[200:]
    with_it, without = (
        learned(client, f"{namespace}-{name}", learner_of, [first, [event], second])
        for name, event in (("a", bad), ("b", at_arrival))
    )
    np.testing.assert_array_equal(counts(with_it), counts(without))
    assert stored(with_it) == stored(without)
    assert with_it.online_state() == without.online_state()
    # the history keeps what was sent
    kept = read_history(client.get(with_it.keys.history("u3")))
    assert int(kept["time_ms"].max()) == IN_2099_MS


def test_taking_such_an_event_back_changes_no_other_item(learner_of, client, namespace):
    bad = Event("u3", "i39", 5.0, time_ms=IN_2099_MS)
    feed = learned(client, namespace, learner_of, [usual(200), [bad]])
    before = counts(feed)
    feed.append([Event("u3", "i39", 0.0, DELETE_RATING)])
    learner_of().drain()
    after = counts(feed)
    np.testing.assert_array_equal(after[:39], before[:39])
    assert after[39, TOTAL] == 0.0
    assert max(row_times(feed).values()) <= NOW_MS + DAY_MS


def test_rows_that_an_earlier_version_has_dated_heal(learner_of, client, namespace):
    feed = learned(client, namespace, learner_of, [usual()])
    rows = read_counts(client, feed.keys.counts(0))
    item = int(rows[:, TOTAL].argmax())
    rows[item] = rows[item, TOTAL], 1.0, IN_2099_MS
    client.set(feed.keys.counts(0), rows.tobytes())
    # the api leaves it out of what is trending, and of nothing else
    learner = learner_of()
    feed.append([Event("u1", f"i{n}", 5.0) for n in range(3)])
    feed.append([Event("u2", _name(feed, item), 5.0)])
    learner.drain()
    healed = read_counts(client, feed.keys.counts(0))
    assert healed[item].tolist() == [rows[item, TOTAL] + 1.0, 1.0, NOW_MS]
    assert healed[:, TIME].max() <= NOW_MS


def _name(feed: Feed, number: int) -> str:
    return next(name for name, at in feed.numbers.items() if at == number)


def test_an_api_process_does_not_call_such_an_item_trending(
    learned_api, redis_url, namespace, client
):
    for user in ("ann", "bob", "eve"):
        sequence = learned_api.rate(user, "a", 5)
    sequence = learned_api.rate("ann", "b", 5)
    learned_api("GET", f"/v1/users/ann/predictions/a?min_sequence={sequence}")

    key = PartitionKeys(namespace, 0).counts(0)
    rows = read_counts(client, key)
    rows[1, TIME] = IN_2099_MS
    client.set(key, rows.tobytes())

    async def orders():
        async with connect_async(redis_url, role="test") as connection:
            popularity = Popularity(CountsReader(connection, namespace, 1), 168.0)
            await popularity.refresh()
            return popularity.current

    found = learned_api.run(orders())
    assert found.trending[0].tolist() == [0]
    assert found.popular[0].tolist() == [0, 1]


def test_transitions_that_an_earlier_version_has_dated_heal(learner_of, client, namespace):
    table = Transitions(HALF_LIFE_MS)
    table.grow(2)
    table._row_ms[1] = IN_2099_MS
    table.bound(Horizon(NOW_MS, DAY_MS).until_ms)
    assert table.row_ms[1] == NOW_MS + DAY_MS


def test_a_rebuild_bounds_stored_times_and_gives_the_same_bits_twice(
    learner_of, client, namespace, redis_url
):
    bad = Event("u3", "i39", 5.0, time_ms=IN_2099_MS)
    feed = learned(client, namespace, learner_of, [usual(200), [bad], usual(300)[200:]])
    before = counts(feed)
    found = []
    for generation in (1, 2):
        rebuild(Settings(namespace=namespace), redis_url)
        found.append((read_counts(client, feed.keys.counts(generation)), stored(feed)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]
    np.testing.assert_array_equal(found[0][0][:39], before[:39])
    assert found[0][0][:, TIME].max() <= NOW_MS + DAY_MS
    order = trending(found[0][0], HALF_LIFE_MS)[1]
    assert (order > 0.0).sum() == np.count_nonzero(found[0][0][:, RECENT])


def test_a_training_does_not_take_such_a_time_for_the_newest():
    at = NOW_MS - np.arange(500) * DAY_MS // 100
    at[7] = IN_2099_MS
    item = np.arange(500) % 40
    kept = records(item, np.full(500, 5.0), at, np.arange(1, 501), np.zeros(500, np.uint8))
    users = [f"u{n}" for n in range(250)]
    none = np.empty(0, np.int64)
    times = Times(until_ms=NOW_MS + DAY_MS)
    times.add(Histories(users, np.repeat(np.arange(250), 2), kept, none, none), EventMeanings())
    assert {cut.newest_ms for cut in times.cuts()} == {NOW_MS + DAY_MS}
