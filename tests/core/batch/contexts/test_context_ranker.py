"""Rankers of contexts: the item before, and the models that use it."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from core.batch.contexts import search as context_search
from core.batch.contexts.config import KINDS, ContextConfig, DescentConfig
from core.batch.contexts.ranker import ContextRanker, before, newest
from core.errors import ConfigError, DataError, NotFitted, ShapeError
from core.interactions import from_pairs
from core.search.search import Budget
from tests.core import ranking

FEW = DescentConfig(epochs=3, alpha0=5.0)


def walks(n_users=40, steps=10, n_items=20):
    """Return users who start anywhere and advance 7 items each second."""
    user = np.repeat(np.arange(n_users), steps)
    step = np.tile(np.arange(steps), n_users)
    item = (user * 3 + 7 * step) % n_items
    return from_pairs(user, item, n_users=n_users, n_items=n_items, time=step)


def ticking(step=1.0):
    return itertools.count(0.0, step / 2.0).__next__


def test_the_item_before_is_the_newest_one_at_each_moment():
    pairs = from_pairs(
        np.array([0, 0, 0, 2, 2]),
        np.array([1, 2, 3, 0, 3]),
        n_users=4,
        time=np.array([9, 5, 7, 4, 4]),
    )
    # equal times are ordered by item; -1 means that there is no item before
    assert before(pairs).tolist() == [3, -1, 2, -1, 0]
    assert newest(pairs).tolist() == [1, -1, 3, -1]


@pytest.mark.parametrize("kind", ["svdfeature", "pitf", "cp"])
def test_the_successor_of_the_newest_item_is_recommended(kind):
    pairs = walks()
    config = ContextConfig(kind, 16, DescentConfig(epochs=150, alpha0=5.0, reg=0.01))
    model = ContextRanker(config).fit(pairs)
    ids, _ = model.recommend(np.arange(40), pairs, 1)
    wanted = (newest(pairs) + 7) % 20
    assert (ids[:, 0] == wanted).mean() > 0.8
    alone, _ = model.recommend(5, pairs, 1)
    assert alone[0] == ids[5, 0]


def test_features_of_items_lead_to_an_item_that_few_have():
    pairs = ranking.tribes()
    kept = pairs.keep((pairs.item_ix != 5) | (pairs.user_ix == 1))
    tribe = sparse.csr_array(np.eye(4)[np.arange(60) % 4])
    config = ContextConfig("svdfeature", 8, DescentConfig(epochs=60, alpha0=60.0, nu=0.5))
    ranks = []
    for features in (None, tribe):
        model = ContextRanker(config)
        model.fit(from_pairs(kept.user_ix, kept.item_ix, n_items=60), item_features=features)
        scores = model.user_vectors(kept) @ model.item_factors.T
        own = np.arange(1, 120, 4)
        ranks.append((scores[own] > scores[own, 5:6]).sum(1).mean())
    assert ranks[1] < ranks[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_reports_its_losses_and_stops_on_request(kind):
    model = ContextRanker(ContextConfig(kind, 4, FEW))
    model.fit(walks(), on_epoch=lambda model, epoch: epoch == 2)
    assert (model.epochs, len(model.losses)) == (2, 4)
    ids, scores = model.similar_items(3, 2)
    assert ids[0] == 3
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("kind", KINDS)
def test_settings_are_found_within_the_budget(kind):
    pairs = walks()
    start = ContextConfig(kind, 8, DescentConfig(epochs=5, seed=3))
    found = context_search.search(
        pairs, start, Budget(ticking(), 6.0), fixed=frozenset({"factors", "epochs"})
    )
    assert (found.factors, found.descent.epochs, found.descent.seed) == (8, 5, 3)
    assert found.descent.alpha0 != start.descent.alpha0
    untested = context_search.search(pairs, start, Budget(ticking(), 0.0))
    assert untested == context_search.with_settings(start, context_search.rough(pairs, start))


@pytest.mark.parametrize("weight", [0.2, 10.0])
@pytest.mark.parametrize("kind", ["mf", "svdfeature"])
def test_pairs_that_all_weigh_the_same_find_the_same_settings(kind, weight):
    pairs, start = ranking.tribes(users=60, items=40), ContextConfig(kind, 8, FEW)
    for seconds in (0.0, 6.0):
        plain, scaled = (
            context_search.search(one, start, Budget(ticking(), seconds))
            for one in (pairs, ranking.weighing(pairs, weight))
        )
        for name in ("alpha0", "reg"):
            wanted = weight * getattr(plain.descent, name)
            assert getattr(scaled.descent, name) == pytest.approx(wanted, rel=1e-3)
        same = {"alpha0": plain.descent.alpha0, "reg": plain.descent.reg}
        assert context_search.with_settings(scaled, same) == plain


@pytest.mark.parametrize("seconds", [0.0, 40.0])
@pytest.mark.parametrize("weight", [1.0, 10.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_length_of_plain_steps_suits_the_data(kind, weight, seconds):
    pairs = ranking.weighing(ranking.tribes(), weight)
    start = ContextConfig(kind, 8, DescentConfig(optimiser="plain"))
    found = context_search.search(pairs, start, Budget(ticking(), seconds))
    assert found.descent.learning_rate != start.descent.learning_rate
    losses = ContextRanker(found).fit(pairs).losses
    assert losses[-1] < losses[0]


def test_epochs_are_searched_even_if_they_are_the_only_open_setting():
    pairs = walks()
    start = ContextConfig("svdfeature", 8, DescentConfig(alpha0=5.0))
    stated = {"factors", "alpha0", "reg", "nu", "rho"}

    def found(*more, seconds=400.0):
        fixed = frozenset(stated | {*more})
        return context_search.search(pairs, start, Budget(ticking(), seconds), fixed=fixed)

    epochs = found().descent.epochs
    assert epochs not in {start.descent.epochs, context_search.rough(pairs, start)["epochs"]}
    assert found() == context_search.with_settings(start, {"epochs": epochs})
    assert found("epochs") == found(seconds=0.0) == start


def test_large_data_are_searched_on_some_users():
    pairs = walks(n_users=60)
    users = context_search._some_users(pairs, np.random.default_rng(0), most_pairs=300)
    assert users.size == 30
    assert (np.diff(users) > 0).all()


def test_impossible_requests_are_refused_with_the_reason():
    pairs, timeless = walks(), ranking.tribes(users=20)
    timeless = from_pairs(timeless.user_ix, timeless.item_ix)
    with pytest.raises(ConfigError, match="give the pairs times"):
        ContextRanker(ContextConfig("pitf", 4, FEW)).fit(timeless)
    with pytest.raises(ConfigError, match="use svdfeature"):
        ContextRanker(ContextConfig("cp", 4, FEW)).fit(
            pairs, item_features=sparse.eye_array(20, format="csr")
        )
    with pytest.raises(ShapeError, match="3 rows for 20 items"):
        ContextRanker(ContextConfig("svdfeature", 4, FEW)).fit(
            pairs, item_features=sparse.eye_array(3, format="csr")
        )
    with pytest.raises(ConfigError, match="one of mf"):
        ContextConfig("fm")
    with pytest.raises(ConfigError, match="factors"):
        ContextConfig("mf", 0)
    with pytest.raises(NotFitted):
        ContextRanker(ContextConfig("mf", 4, FEW)).asked_vectors(np.arange(2), pairs)
    model = ContextRanker(ContextConfig("mf", 4, FEW)).fit(pairs)
    with pytest.raises(ShapeError, match="has 40 users"):
        model.asked_vectors(np.array([40]), pairs.rows(np.array([0])))
    with pytest.raises(DataError, match="by time"):
        before(timeless)
    few = from_pairs(np.array([0, 0, 1]), np.array([0, 1, 1]))
    with pytest.raises(DataError, match="fewer than 10 users"):
        context_search.search(few, ContextConfig("mf"), Budget(ticking(), 1.0))
