"""Users who took items that a model has not learned: their rows, and the pairs of these items."""

import numpy as np
import pytest

from core.batch.preferences import Preferences
from core.batch.takers import MOST_ITEMS, NOBODY, Takers

NONE = np.empty(0, np.int32)


def row(likes, dislikes=()):
    items = np.array(sorted([*likes, *dislikes]), np.int32)
    target = np.isin(items, likes).astype(np.float32)
    return Preferences(items, np.ones(items.size, np.float32), target, NONE)


def some():
    return Takers.of_rows([row([1, 5], [6]), row([5]), row([2, 9], [5])])


def test_the_pairs_are_of_the_items_that_are_not_learned_and_that_somebody_likes():
    learned = np.array([1, 1, 1, 1, 1, 0, 0], np.bool_)
    new = some().pairs_but(learned)
    assert new.items.tolist() == [5, 9]
    assert [new.user_ix[new.of(at)].tolist() for at in range(2)] == [[0, 1, 2], [2]]
    assert [new.evidence[new.of(at)].tolist() for at in range(2)] == [[1, 1, -1], [1]]
    assert some().pairs_but(np.ones(10, np.bool_)).items.size == 0


def test_a_row_has_only_what_is_learned():
    items, evidence = some().row(0, np.array([1, 1, 1, 1, 1, 0, 1], np.bool_))
    assert (items.tolist(), evidence.tolist()) == ([1, 6], [1.0, -1.0])
    assert some().row(2, np.ones(3, np.bool_))[0].tolist() == [2]


def test_the_takers_of_partitions_are_joined_in_order():
    joined = Takers.joined([Takers.of_rows([row([1, 5], [6])]), NOBODY, *[some()]])
    assert joined.ptr.tolist() == [0, 3, 6, 7, 10]
    assert joined.item_ix.tolist() == [1, 5, 6, 1, 5, 6, 5, 2, 5, 9]
    assert Takers.joined([]).n_users == 0


def test_a_version_names_the_preferences_and_survives_a_snapshot():
    again = Takers.of(some().arrays())
    assert again.version == some().version != NOBODY.version
    assert Takers.of_rows([row([1])]).version != Takers.of_rows([row([], [1])]).version


def test_of_too_many_items_those_with_most_likes_count():
    n = MOST_ITEMS + 3
    takers = Takers.of_rows([row(range(n)), row([0, 1, n - 1])])
    items = takers.pairs_but(np.zeros(0, np.bool_)).items
    assert items.size == MOST_ITEMS
    assert (items[:2].tolist(), items[-1]) == ([0, 1], n - 1)


@pytest.mark.parametrize("learned", [0, 3, 20])
def test_without_takers_there_is_nothing_new(learned):
    assert NOBODY.pairs_but(np.zeros(learned, np.bool_)).items.size == 0
