"""Steps keep the order of events; the latest items of a user are those of the newest steps."""

import numpy as np
import pytest

from core.batch.preferences import preferences
from core.errors import DataError
from core.meaning import EventMeanings, HistoryColumns, KindTable
from core.steps import LATEST, latest, latest_items, steps_of

MEANINGS = EventMeanings(KindTable.of([(5, 1.0, 1, True), (6, 0.0, 0, False), (7, 2.0, -1, True)]))


def naive(items):
    """Return the latest distinct items, newest first."""
    found = []
    for item in reversed(items):
        if item not in found:
            found.append(item)
    return found[:LATEST]


def events(rng, n):
    kind = rng.choice(np.array([0, 5, 6, 7], np.uint8), n)
    return rng.integers(0, 20, n), kind, rng.uniform(1, 5, n).astype(np.float32), rng.permutation(n)


@pytest.mark.parametrize("n", [0, 1, 10, 80])
def test_latest_items_are_those_of_the_newest_steps(n):
    rng = np.random.default_rng(n)
    item, kind, value, sequence = events(rng, n)
    history, by_time = HistoryColumns(item, kind, value, sequence), np.argsort(sequence)
    steps = [int(item[at]) for at in by_time if kind[at] != 6]
    assert latest_items(history, MEANINGS).tolist() == naive(steps)
    assert preferences(history, MEANINGS).latest.tolist() == naive(steps)


def test_no_more_than_the_latest_are_kept():
    found = latest(np.arange(100))
    assert found.tolist() == list(range(99, 99 - LATEST, -1))
    assert found.dtype == np.int32


def test_steps_are_in_order_within_each_user():
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 5, 40), rng.integers(0, 9, 40)
    order = rng.integers(0, 10, 40)
    steps = steps_of(users, items, order, n_users=6, n_items=9)
    for user in range(6):
        at = [i for i in sorted(range(40), key=lambda i: order[i]) if users[i] == user]
        assert steps.of(user).tolist() == items[at].tolist()
        assert steps.latest(user).tolist() == naive(items[at].tolist())
    assert np.array_equal(steps.user_ix, np.sort(users))


def test_without_an_order_steps_stay_as_given():
    steps = steps_of([1, 0, 1], [3, 2, 1], n_users=2, n_items=4, weight=[1, 2, 3])
    assert steps.item_ix.tolist() == [2, 3, 1]
    assert steps.weight.tolist() == [2, 1, 3]


@pytest.mark.parametrize(
    ("users", "items", "order"),
    [([0, 1], [0], None), ([0, 2], [0, 0], None), ([0, 0], [0, 9], None), ([0], [0], [1, 2])],
)
def test_wrong_events_are_refused(users, items, order):
    with pytest.raises(DataError):
        steps_of(users, items, order, n_users=2, n_items=9)
