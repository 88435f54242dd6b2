"""The stack of rankers: its candidates, its signals, and the order that its logit gives."""

import numpy as np
import pytest

from core.batch.preferences import Preferences
from core.stack.logit import Logit
from service.ranking.asker import Asker
from service.ranking.pool import NOTHING, Pool
from service.ranking.stack import Stack, candidates, candidates_of, score_columns, signal_names
from tests.rankers import asker, everything, fold_in, order

N = 300


@pytest.fixture(scope="module")
def rankers():
    return [fold_in(N), order("popular", list(range(N)))]


def returning(items):
    """Return an asker to whom seen items may be shown again; the last of them is the newest."""
    own, ones = np.unique(np.array(items, np.int32)), np.ones(len(items), np.float32)
    return Asker(Preferences(own, ones, ones, NOTHING, np.array(items[::-1], np.int32)))


def test_candidates_are_the_heads_of_all_rankers_and_the_history(rankers):
    me, pool = returning([7, 290, 299]), everything(N)
    found = candidates(rankers, me, pool)
    heads = [rankers[0].best(me, pool, 100).items, np.arange(50)]
    assert found.items.tolist() == np.unique(np.concatenate([*heads, [7, 290, 299]])).tolist()
    assert found.signals.shape == (found.items.size, len(signal_names(rankers)))


def test_what_the_pool_leaves_out_is_no_candidate(rankers):
    me = returning([7, 290])
    allowed = np.arange(N) % 2 == 0
    found = candidates(rankers, me, Pool(allowed, np.array([290], np.int32)))
    assert not found.items[found.items % 2 == 1].size
    assert 290 not in found.items
    some = np.array([3, 4, 290], np.int32)
    assert candidates(rankers, me, Pool(allowed, candidates=some)).items.tolist() == [4, 290]


def test_signals_say_what_rankers_and_history_say(rankers):
    me = returning([7, 9])
    found = candidates(rankers, me, everything(N))
    named = dict(zip(signal_names(rankers), found.signals.T, strict=True))
    np.testing.assert_allclose(
        named["fbgd: score"], rankers[0].scores(me)[found.items], rtol=1e-4, atol=1e-5
    )
    at = {item: row for row, item in enumerate(found.items.tolist())}
    seen = [named[f"history: {name}"] for name in ("seen", "last", "log age")]
    assert [column[at[9]] for column in seen] == [1.0, 1.0, 0.0]
    assert [column[at[7]] for column in seen] == [1.0, 0.0, pytest.approx(np.log(2.0))]
    assert sum(column.sum() for column in seen) == pytest.approx(3.0 + np.log(2.0))
    assert list(score_columns(rankers).values()) == [0, 3]


def test_candidates_of_some_rankers_are_as_they_would_have_made_them(rankers):
    me, pool = returning([7, 9]), everything(N)
    lists = {ranker.strategy: ranker.mixing_list(me, pool, 100) for ranker in rankers}
    found = candidates_of(rankers, lists, me, pool).of(rankers, rankers[1:], lists, me, pool)
    alone = candidates(rankers[1:], me, pool)
    assert found.items.tolist() == alone.items.tolist()
    assert found.signals.tolist() == alone.signals.tolist()
    # kernels are compiled for rows that lie one behind the other
    assert found.signals.flags.c_contiguous


def test_who_is_unknown_gets_popular_candidates(rankers):
    found = candidates(rankers, asker([]), everything(N))
    assert found.items.tolist() == list(range(50))
    assert np.isfinite(found.signals).all()


def test_the_taken_item_is_found_among_the_candidates(rankers):
    found = candidates(rankers, asker([]), everything(N))
    assert found.taken(13, 2).taken == 13
    assert found.taken(200, 2).taken == -1
    assert found.taken(13, 2).length == 2


def test_a_stack_with_one_weight_orders_as_that_ranker_does(rankers):
    names = signal_names(rankers)
    weights = np.zeros((len(names), 3))
    weights[0, 0] = 2.0
    ones, zeros = np.ones(len(names), np.float32), np.zeros(len(names), np.float32)
    logit = Logit(tuple(names), zeros, ones, weights, (0.0, 1.0))
    me, pool = asker([3, 5]), Pool(np.ones(N, np.bool_), np.array([3, 5], np.int32))
    items, likely = Stack(rankers, logit).best(me, pool, 20)
    np.testing.assert_array_equal(items, rankers[0].best(me, pool, 20).items)
    assert (np.diff(likely) <= 0).all()
    assert 0.0 < likely.sum() < 1.0


def test_a_ranker_that_answers_alone_gives_its_own_list(rankers):
    names = signal_names(rankers)
    nothing = np.zeros(len(names), np.float32)
    logit = Logit(tuple(names), nothing, nothing, np.zeros((len(names), 3)), (0.0, 1.0))
    me, pool = asker([3, 5]), everything(N)
    items, scores = Stack(rankers, logit, "fbgd").best(me, pool, 20)
    expected = rankers[0].best(me, pool, 20)
    np.testing.assert_array_equal(items, expected.items)
    np.testing.assert_array_equal(scores, expected.scores)
    # whom it does not know, the others answer
    assert Stack(rankers, logit, "fbgd").best(asker([]), pool, 5)[0].size == 5
