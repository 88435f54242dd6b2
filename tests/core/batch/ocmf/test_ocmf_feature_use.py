"""The uses of features and links, and how validation chooses one."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from core import ranking_metrics
from core.batch.ocmf import search as ocmf_search
from core.batch.ocmf.config import FeatureUse, OcmfConfig
from core.batch.ocmf.feature_use import ALIKE, SideInformation, choose, fit_with, validated
from core.batch.ocmf.graph import similarity
from core.batch.ranker import rank
from core.search.search import Budget
from core.splits import split_within_users
from tests.core import ranking

CONFIG = OcmfConfig(loss="square", weight=0.1, reg=2.0, factors=8, rounds=4)
CONFIGS = [CONFIG, replace(CONFIG, loss="logistic", reg=0.3)]


def ticking(step=1.0):
    return itertools.count(0.0, step / 2.0).__next__


def tribe_of(users=120):
    return sparse.csr_array(np.eye(4)[np.arange(users) % 4])


def coin_of(users=120):
    """Return a feature that has nothing to do with what users like."""
    return sparse.csr_array(np.eye(2)[np.random.default_rng(5).integers(0, 2, users)])


def without(pairs, users):
    return pairs.keep(~np.isin(pairs.user_ix, users))


@pytest.mark.parametrize("config", CONFIGS, ids=["square", "logistic"])
def test_features_for_cold_users_do_not_change_users_with_a_history(config):
    pairs = without(ranking.tribes(), [3, 7])
    side = SideInformation(tribe_of())
    plain = fit_with(pairs, FeatureUse(config), SideInformation())
    cold = fit_with(pairs, FeatureUse(config, "cold"), side)
    beside = fit_with(pairs, FeatureUse(config, "beside"), side)
    warm = np.flatnonzero(pairs.user_counts)
    vectors = cold.vectors(pairs, side)
    assert vectors[warm].tobytes() == plain.vectors(pairs, SideInformation())[warm].tobytes()
    np.testing.assert_array_equal(vectors[[3, 7]], beside.vectors(pairs, side)[[3, 7]])
    assert not np.allclose(vectors[warm], beside.vectors(pairs, side)[warm], atol=1e-4)


@pytest.mark.parametrize("use", ["cold", "beside", "made"])
@pytest.mark.parametrize("config", CONFIGS, ids=["square", "logistic"])
def test_users_without_pairs_get_items_that_fit_their_features(config, use):
    everybody, cold = ranking.tribes(), np.arange(0, 120, 10)
    pairs, side = without(everybody, cold), SideInformation(tribe_of())
    found = fit_with(pairs, FeatureUse(config, use), side)
    ids, _ = rank(
        found.vectors(pairs, side, cold), found.users.row.item_factors, pairs.rows(cold), 5
    )
    assert (ids % 4 == (cold % 4)[:, None]).mean() > 0.9


@pytest.mark.parametrize("use", [None, "cold", "beside"])
def test_users_in_parts_equal_all_users_at_once(use):
    pairs = without(ranking.tribes(), [3])
    links = similarity(np.array([[u, u + 4] for u in range(116)]), 120)
    features = None if use is None else tribe_of()
    some = np.array([3, 4, 50])
    for side, graph in ((SideInformation(features), 0.0), (SideInformation(features, links), 0.3)):
        found = fit_with(pairs, FeatureUse(replace(CONFIG, graph=graph), use or "beside"), side)
        every = found.vectors(pairs, side)
        np.testing.assert_allclose(found.vectors(pairs, side, some), every[some], atol=1e-6)


def test_an_uninformative_feature_does_no_harm():
    fit, held = split_within_users(ranking.tribes(), 0.2, np.random.default_rng(1))
    users, side = np.flatnonzero(held.user_counts), SideInformation(coin_of())
    used, tried = choose(fit, CONFIG, Budget(ticking(), 30.0), side)
    assert used.use != "made"
    assert {one.used.use for one in tried} == {"cold", "beside", "made"}
    assert used in [one.used for one in tried if one.score >= (1.0 - ALIKE) * tried[0].score]
    assert [one.score for one in tried] == sorted((one.score for one in tried), reverse=True)

    def ndcg(used, side):
        found = fit_with(fit, used, side)
        vectors = found.vectors(fit, side, users)
        ids, _ = rank(vectors, found.users.row.item_factors, fit.rows(users), 10)
        return ranking_metrics.ndcg(ranking_metrics.hits(ids, held.rows(users)), 10).mean()

    assert ndcg(used, side) > 0.97 * ndcg(used, SideInformation())
    assert ndcg(used, side) > 1.3 * ndcg(tried[-1].used, side)


def test_informative_features_are_used_for_short_histories():
    pairs = ranking.tribes()
    short = pairs.keep(np.random.default_rng(2).random(len(pairs)) < 0.35)
    used, tried = choose(short, CONFIG, Budget(ticking(), 30.0), SideInformation(tribe_of()))
    assert used.use in ("beside", "made")
    assert tried[-1].used.use == "cold"


def test_uses_with_equal_scores_keep_links_and_features_for_cold_users():
    pairs, nobody = ranking.tribes(), sparse.csr_array((120, 120), dtype=np.float32)
    # links without users and a feature that all users share change no score
    side = SideInformation(sparse.csr_array(np.ones((120, 1))), nobody)
    used, tried = choose(pairs, CONFIG, Budget(ticking(), 60.0), side)
    assert len(tried) == 6
    assert used.use == "beside"
    assert used.config.graph > 0.0


def test_a_stated_use_is_not_searched():
    pairs, side = ranking.tribes(), SideInformation(tribe_of())
    for use in ("cold", "beside", "made"):
        used, tried = choose(pairs, CONFIG, Budget(ticking(), 8.0), side, use=use)
        assert (used.use, tried) == (use, [])


def test_a_budget_that_ends_in_the_first_trial_compares_rough_settings():
    clock = ticking(2.0)
    used, tried = choose(ranking.tribes(), CONFIG, Budget(clock, 8.0), SideInformation(tribe_of()))
    assert len(tried) == 3
    # every call of the clock takes a second
    assert clock() < 30.0
    assert used.config.rounds == ocmf_search.rough(ranking.tribes(), CONFIG)["rounds"]


def test_without_a_budget_features_stand_beside_the_pairs():
    links = similarity(np.array([[0, 1]]), 120)
    used, tried = choose(
        ranking.tribes(), CONFIG, Budget(ticking(), 0.0), SideInformation(tribe_of(), links)
    )
    assert (used.use, tried) == ("beside", [])
    assert used.config.graph > 0.0


def test_links_are_compared_with_no_links_unless_their_strength_is_stated():
    pairs, rng = ranking.tribes(), np.random.default_rng(3)
    side = SideInformation(None, similarity(rng.integers(0, 120, (300, 2)), 120))
    used, tried = choose(pairs, CONFIG, Budget(ticking(), 12.0), side)
    assert sorted(one.used.config.graph > 0.0 for one in tried) == [False, True]
    assert replace(tried[0].used.config, graph=0.0) == replace(tried[1].used.config, graph=0.0)
    stated = replace(CONFIG, graph=0.2)
    used, tried = choose(pairs, stated, Budget(ticking(), 4.0), side, fixed=frozenset({"graph"}))
    assert (used.config.graph, tried) == (0.2, [])


def test_misleading_links_are_not_used():
    pairs, rng = ranking.tribes(), np.random.default_rng(3)
    side = SideInformation(None, similarity(rng.integers(0, 120, (600, 2)), 120))
    strong, none = validated(
        pairs, [FeatureUse(replace(CONFIG, graph=3.0)), FeatureUse(CONFIG)], side, lambda: 1e9
    )
    assert none > strong


class Easy:
    """A split whose score at every round is reg times its ease."""

    def __init__(self, ease):
        self.ease, self.asked = ease, 0

    def curve(self, config, give_up=None):
        self.asked += 1
        return [config.reg * self.ease] * (1 if give_up is None else 3)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("eases", [(0.5, 1.5), (1.5, 0.5)])
def test_settings_are_compared_on_the_same_splits_however_easy_these_are(eases, exact):
    splits = [Easy(ease) for ease in eases]
    judge = ocmf_search._Validation(splits, CONFIG, Budget(lambda: 0.0, 60.0), exact=exact)
    best = judge({"reg": 0.1}).score
    assert best == pytest.approx(0.1)
    better = judge({"reg": 0.12}).score
    assert better == pytest.approx(0.12)
    assert splits[1].asked == 2
    worse = judge({"reg": 0.09})
    assert worse.score == pytest.approx(0.09)
    assert (worse.found == {}) == exact
    assert splits[1].asked == 2
