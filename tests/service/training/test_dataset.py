"""The trainer's dataset: histories up to the cuts, without deleted events, split in time."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.batch.preferences import preferences
from core.gate import FEWEST_USERS
from core.interactions import Interactions
from core.meaning import EventMeanings, HistoryColumns
from service.configs import kind_table
from service.settings import Settings
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.profiles.history_reader import HistoryReader
from service.training.data.cuts import DAY_MS, LATEST, Limits
from service.training.data.pairs import stacked
from service.training.data.reading import read
from tests.histories import START_MS, Record, store_histories, world

DEFAULT = Settings()
READING = EventMeanings(kind_table(DEFAULT))
VIEW, LIKE = DEFAULT.kinds["view"].code, DEFAULT.kinds["like"].code


def stored(client, namespace, told, **more):
    chosen = Settings(namespace=namespace, **more)
    return HistoryReader(client, store_histories(client, chosen, told))


def rows(pairs):
    """(item, weight, target) of each user."""
    weight = np.ones(len(pairs)) if pairs.weight is None else pairs.weight
    target = np.ones(len(pairs)) if pairs.target is None else pairs.target
    told = list(zip(pairs.item_ix.tolist(), weight.tolist(), target.tolist(), strict=True))
    return [told[a:b] for a, b in zip(pairs.ptr, pairs.ptr[1:], strict=False)]


def users_of(reader):
    return [user for page in reader.pages() for user in page.users]


def test_every_user_becomes_a_row_of_preferences(client, namespace):
    told = [
        Record("bob", 2),
        Record("ada", 0),
        Record("ada", 1, value=1.0),
        Record("cy", 1, kind=VIEW),
    ]
    data = read(stored(client, namespace, told), READING, with_documents=False)
    assert rows(data.whole) == [[(0, 1, 1), (1, 1, 0)], [(2, 1, 1)], [(1, pytest.approx(0.2), 1)]]
    assert (data.whole.n_items, data.sequences) == (3, [4])
    assert data.held_out.user_ix.size == 0
    assert rows(data.known) == rows(data.whole)


@pytest.mark.parametrize("partitions", [1, 3])
def test_partitions_and_pages_change_nothing_but_the_order(client, namespace, partitions):
    told = world(users=25, items=20, each=8)
    chosen = Settings(namespace=namespace, partitions=partitions)
    reader = HistoryReader(client, store_histories(client, chosen, told), users_at_once=4)
    data = read(reader, READING, with_documents=False)
    wanted = {}
    for user in {record.user for record in told}:
        own = [record for record in told if record.user == user]
        found = preferences(
            HistoryColumns(
                np.array([r.item for r in own]),
                np.array([r.kind for r in own], np.uint8),
                np.array([r.value for r in own], np.float32),
                np.arange(len(own)),
            ),
            READING,
        )
        wanted[user] = list(
            zip(found.item_ix.tolist(), found.weight.tolist(), found.target.tolist(), strict=True)
        )
    assert dict(zip(users_of(reader), rows(data.whole), strict=True)) == wanted
    assert sum(data.sequences) == len(told)


def test_events_learned_after_the_reader_was_made_are_left_out(client, namespace):
    reader = stored(client, namespace, [Record("ada", 0)])
    stored(client, namespace, [Record("ada", 1), Record("bob", 0)])
    data = read(reader, READING, with_documents=False)
    assert rows(data.whole) == [[(0, 1, 1)], []]
    assert (data.sequences, data.whole.n_items) == ([1], 1)


def test_records_of_a_deleted_item_do_not_teach(client, namespace):
    told = [Record("ada", 0), Record("ada", 1), Record("bob", 0)]
    reader = stored(client, namespace, told)
    client.hset(PartitionKeys(namespace, 0).deleted_items, 0, 2)
    data = read(reader, READING, with_documents=False)
    assert rows(data.whole) == [[(1, 1, 1)], [(0, 1, 1)]]


def test_held_out_users_have_a_history_before_the_cut_and_new_positives_after_it(client, namespace):
    data = read(stored(client, namespace, world()), READING, with_documents=False)
    at_ms, newest = data.cut.at_ms, data.cut.newest_ms
    assert at_ms < newest == START_MS + 60_000 * (300 * 25 - 1)
    users = data.held_out
    assert users.user_ix.size >= FEWEST_USERS
    for n, user_ix in enumerate(users.user_ix.tolist()):
        known = {item for item, _, _ in rows(data.known.rows(np.array([user_ix])))[0]}
        held = {item for item, _, _ in rows(users.held.rows(np.array([n])))[0]}
        seen = {item for item, _, _ in rows(users.seen.rows(np.array([n])))[0]}
        assert known <= seen
        assert held
        assert not held & seen
    assert len(data.known) < len(data.whole)


def test_a_trimmed_item_counts_as_seen(client, namespace):
    told = world()
    reader = stored(client, namespace, told)
    [user_ix] = read(reader, READING, with_documents=False).held_out.user_ix[:1].tolist()
    user = users_of(reader)[user_ix]
    before = read(reader, READING, with_documents=False).held_out
    gone = before.held.item_ix[: before.held.ptr[1]]
    client.set(PartitionKeys(namespace, 0).trimmed(user), gone[:1].astype("<u4").tobytes())
    after = read(reader, READING, with_documents=False).held_out
    where = np.flatnonzero(after.user_ix == user_ix)
    left = after.held.rows(where).item_ix.tolist() if where.size else []
    assert left == gone[1:].tolist()


def test_a_trimmed_item_that_is_newer_than_the_reading_is_ignored(client, namespace):
    reader = stored(client, namespace, world())
    before = read(reader, READING, with_documents=False).held_out
    user_ix = next(ix for ix in before.user_ix.tolist() if ix % 100)
    at = int(np.flatnonzero(before.user_ix == user_ix)[0])
    # read as one number with its user it would be the first item that the next user took
    item = reader.n_items + int(before.held.item_ix[before.held.ptr[at]])
    user = users_of(reader)[user_ix - 1]
    client.set(PartitionKeys(namespace, 0).trimmed(user), np.array([item], "<u4").tobytes())
    after = read(reader, READING, with_documents=False).held_out
    assert after.user_ix.tolist() == before.user_ix.tolist()
    assert rows(after.held) == rows(before.held)
    assert rows(after.seen) == rows(before.seen)


def test_the_last_day_is_held_out_where_it_has_enough_users(client, namespace):
    old = world(users=260, each=30, start_ms=START_MS)
    new = [
        Record(f"u{n:04d}", 80 + n % 5, time_ms=START_MS + 400 * 86_400_000 + n) for n in range(260)
    ]
    reader, limits = stored(client, namespace, old + new), Limits(day_users=250)
    data = read(reader, READING, with_documents=False, limits=limits)
    assert data.cut.at_ms == data.cut.newest_ms - DAY_MS
    assert data.held_out.user_ix.size == 260


def by_hand(told):
    """Return each user's known and held-out positives: the latest tenth, at least one."""
    known, held = {}, {}
    for user in sorted({r.user for r in told}):
        own = sorted((r for r in told if r.user == user), key=lambda r: r.time_ms)
        liked = list(dict.fromkeys(r.item for r in own if r.value >= 4))
        n = max(int(LATEST * len(liked)), 1) if len(liked) > 1 else 0
        held[user] = set(liked[len(liked) - n :])
        known[user] = set(liked[: len(liked) - n])
    return known, held


def held_out(data, users):
    """Return the same of a dataset."""
    liked = data.known.keep(data.known.target > 0)
    known = {user: set(items_of(liked, ix)) for ix, user in enumerate(users)}
    held = {user: set() for user in users}
    for n, user_ix in enumerate(data.held_out.user_ix.tolist()):
        held[users[user_ix]] = set(items_of(data.held_out.held, n))
    return known, held


def items_of(pairs, row):
    return pairs.item_ix[pairs.ptr[row] : pairs.ptr[row + 1]].tolist()


def test_each_users_latest_are_held_out_where_no_moment_leaves_enough_users(client, namespace):
    told = world(users=50)
    reader = stored(client, namespace, told)
    data = read(reader, READING, with_documents=False)
    assert data.cut.of_each
    assert not data.cut.is_beyond(START_MS)
    assert held_out(data, users_of(reader)) == by_hand(told)
    assert data.held_out.user_ix.size == 50
    assert len(data.whole) > len(data.known)


@pytest.mark.parametrize("gap_ms", [0, 1])
def test_users_who_came_one_after_the_other_are_held_out_all_the_same(client, namespace, gap_ms):
    # an import without times: of one moment, or user by user
    told = sorted(world(users=250), key=lambda r: r.user)
    told = [
        Record(r.user, r.item, r.value, time_ms=START_MS + gap_ms * n) for n, r in enumerate(told)
    ]
    reader = stored(client, namespace, told)
    data = read(reader, READING, with_documents=False)
    assert data.cut.of_each
    assert held_out(data, users_of(reader)) == by_hand(told)
    assert data.held_out.user_ix.size >= FEWEST_USERS


def test_events_after_a_held_out_positive_are_held_out_too(client, namespace):
    told = [
        Record("ada", 0, time_ms=START_MS + 1),
        Record("ada", 2, value=1.0, time_ms=START_MS + 4),
        Record("ada", 0, time_ms=START_MS + 5),
        Record("ada", 1, time_ms=START_MS + 3),
        Record("ada", 3, value=1.0, time_ms=START_MS + 2),
        Record("bob", 1, time_ms=START_MS + 9),
    ]
    data = read(stored(client, namespace, told), READING, with_documents=False)
    assert rows(data.known) == [[(0, 1, 1), (3, 1, 0)], [(1, 1, 1)]]
    assert rows(data.held_out.held) == [[(1, 1, 1)]]
    assert rows(data.held_out.seen) == [[(0, 1, 1), (3, 1, 1)]]


def test_nothing_is_held_out_if_no_user_likes_two_items(client, namespace):
    told = [Record(f"u{n}", n % 7, time_ms=START_MS + n) for n in range(300)]
    data = read(stored(client, namespace, told), READING, with_documents=False)
    assert not data.cut.holds_out
    assert rows(data.known) == rows(data.whole)


def test_an_empty_namespace_is_an_empty_dataset(client, namespace):
    data = read(stored(client, namespace, []), READING, with_documents=True)
    assert (len(data.whole), data.whole.n_users, data.whole.n_items) == (0, 0, 0)


def test_the_sample_of_times_stays_small(client, namespace):
    told = world()
    exact = read(stored(client, namespace, told), READING, with_documents=False).cut
    reader = HistoryReader(client, _same(namespace))
    thinned = read(reader, READING, with_documents=False, limits=Limits(times=500)).cut
    assert abs(thinned.at_ms - exact.at_ms) < 0.02 * (exact.newest_ms - START_MS)


def _same(namespace):
    return type("Same", (), {"name": namespace, "partitions": 1})()


def test_documents_become_features_and_links(client, namespace):
    told = [Record(user, 0) for user in ("ada", "bob", "cy", "dan")]
    reader = stored(client, namespace, told)
    keys = NamespaceKeys(namespace)
    bodies = {
        "ada": {"features": {"country": "de"}, "links": [{"user": "cy", "weight": 2.0}]},
        "bob": {"features": {"country": "de"}, "links": [{"user": "stranger", "weight": 1.0}]},
        "nobody": {"features": {"country": "fr"}, "links": []},
    }
    for user, body in bodies.items():
        client.set(keys.user_document(user), json.dumps({"version": 1, **body}))
    encoded = read(reader, READING, with_documents=True).encoded
    assert encoded is not None
    assert encoded.features.toarray().tolist() == [[1], [1], [0], [0]]
    assert encoded.links.toarray()[0].tolist() == [0, 0, 2, 0]
    assert encoded.links.nnz == 1


@given(counts=st.lists(st.lists(st.integers(0, 6), max_size=4), max_size=5))
@settings(max_examples=30)
def test_stacking_puts_rows_below_one_another(counts):
    parts = []
    for rows_of_part in counts:
        ptr = np.concatenate([[0], np.cumsum(rows_of_part)]).astype(np.int64)
        items = np.concatenate([np.arange(n) for n in rows_of_part] + [np.empty(0)])
        parts.append(Interactions(9, ptr, items.astype(np.int32)))
    whole = stacked(parts, 9)
    assert whole.user_counts.tolist() == [n for part in counts for n in part]
    assert whole.item_ix.tolist() == [i for part in counts for n in part for i in range(n)]


class InterruptedReader(HistoryReader):
    """A reader that calls ``between`` before each reading but the first."""

    readings = 0

    def pages(self):
        if self.readings:
            self.between()
        self.readings += 1
        return super().pages()


def test_users_who_are_deleted_between_two_readings_are_left_out(client, namespace):
    told = world(users=30, items=20, each=8)
    reader = InterruptedReader(client, store_histories(client, Settings(namespace=namespace), told))
    keys, names = PartitionKeys(namespace, 0), NamespaceKeys(namespace)
    gone = [f"u{n:04d}" for n in range(0, 30, 3)]
    for n in range(30):
        document = {"version": 1, "features": {"taste": n % 2}}
        client.set(names.user_document(f"u{n:04d}"), json.dumps(document))

    def delete():
        client.zrem(keys.users, *gone)
        for user in gone:
            client.delete(keys.history(user), names.user_document(user))

    reader.between = delete
    data = read(reader, READING, with_documents=True)
    assert reader.readings > 1
    assert data.whole.n_users == data.known.n_users == 20
    assert rows(data.whole) == rows(read(reader, READING, with_documents=True).whole)
    assert data.encoded.features.shape[0] == 20
