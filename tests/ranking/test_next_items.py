"""The signals of ``next``: what follows the latest items, and how histories open."""

import numpy as np

from core.batch.preferences import Preferences
from core.transitions.successors import Successors
from core.transitions.table import Taken, Transitions, no_latest
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.untrained.learned import LearnedPart, LearnedState
from service.ranking.untrained.next_items import NextItems
from tests.rankers import online, rated

ITEMS = np.arange(8, dtype=np.int32)


def ranker(*histories):
    """Return the ranker after users have taken these items in order."""
    steps = [(user, item) for user, items in enumerate(histories) for item in items]
    user, item = np.array(steps).T
    table, ones = Transitions(1_000.0), np.ones(user.size, np.float32)
    times = np.ones(user.size, np.int64)
    table.learn(Taken(user, item.astype(np.int32), ones, times), no_latest(len(histories)))
    return NextItems(FAMILIES["next"], Successors.of([table.counted()], now_ms=1.0), "made", {})


def openings(ranker, *latest):
    """Return the signal of openings for somebody with these latest items."""
    items = np.array(latest, np.int32)
    ones = np.ones(items.size, np.float32)
    asker = Asker(Preferences(np.sort(items), ones, ones, np.sort(items), items))
    return ranker.signals_of(asker, ITEMS)[:, list(ranker.signals).index("log openings")]


def test_what_others_took_at_this_point_is_a_signal():
    made = ranker([0, 1, 2], [3, 1, 4], [5, 1, 0])
    second = openings(made, 6)
    assert second.argmax() == 1
    assert second[1] == np.log1p(np.float32(3.0))
    # nothing has followed item 6: the signal asks for no more than the length of the history
    assert (openings(made, 0) == second).all()
    third = openings(made, 1, 6)
    assert third[2] == third[4] > third[3] == third[5] > 0.0
    assert third[7] == 0.0


def test_a_long_history_has_opened_long_ago():
    made = ranker([0, 1, 2], [3, 1, 4])
    assert not openings(made, *range(20)).any()


def test_items_that_are_new_to_the_counts_open_nothing():
    made = ranker([0, 1])
    assert openings(made, 0)[2:].tolist() == [0.0] * 6


def test_scores_of_what_one_learner_publishes_are_not_taken_for_each_other():
    table = Transitions(1_000.0).counted()
    rated_items = online(8)._items
    learned = LearnedState.of({0: LearnedPart(rated_items, table)}, now_ms=1.0)
    first, second = learned.rankers(0)
    assert {first.strategy, second.strategy} == {"online", "next"}
    asker = rated([1, 2])
    asker = asker.having(first.prepare(asker))
    assert first.prepare(asker) is None
    assert second.prepare(asker) is not None, "it has scores of its own"
