"""The search of one-class settings: units, weights and a single open setting."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from core.batch.ocmf import search as ocmf_search
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.model import Ocmf
from core.search.search import Budget
from tests.core import ranking


def ticking(step=1.0):
    return itertools.count(0.0, step / 2.0).__next__


@pytest.mark.parametrize("seconds", [0.0, 30.0])
@pytest.mark.parametrize("weight", [0.2, 10.0])
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_pairs_that_all_weigh_the_same_find_the_same_settings(loss, weight, seconds):
    pairs, start = ranking.tribes(users=60, items=40), OcmfConfig(loss=loss)
    plain, scaled = (
        ocmf_search.search(one, start, Budget(ticking(), seconds))
        for one in (pairs, ranking.weighing(pairs, weight))
    )
    assert scaled.reg == pytest.approx(weight * plain.reg, rel=1e-3)
    assert replace(scaled, reg=plain.reg) == plain


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "square", "weight": 1.0},
        {"loss": "logistic"},
        {"negatives": "sampled"},
        {"negatives": "listed", "negative_loss": "logistic"},
    ],
)
def test_the_weight_of_unlabelled_pairs_is_relative_to_that_of_positives(settings):
    pairs, config = ranking.tribes(users=60, items=40), OcmfConfig(factors=4, **settings)
    plain = Ocmf(config).fit(pairs)
    scaled = Ocmf(replace(config, reg=10.0)).fit(ranking.weighing(pairs, 10.0))
    for one in (plain, scaled):
        assert np.abs(one.item_factors).max() > 0.01
    np.testing.assert_allclose(scaled.item_factors, plain.item_factors, atol=1e-3)
    np.testing.assert_allclose(scaled.losses, 10.0 * np.array(plain.losses), rtol=1e-4)


def test_rounds_are_searched_even_if_they_are_the_only_open_setting():
    pairs, start = ranking.tribes(), OcmfConfig(factors=8, reg=3.0, rounds=11)
    stated = {"factors", "weight", "reg", "nu"}

    def found(*more, seconds=30.0):
        fixed = frozenset(stated | {*more})
        return ocmf_search.search(pairs, start, Budget(ticking(), seconds), fixed=fixed)

    rounds = found().rounds
    assert rounds not in {start.rounds, ocmf_search.rough(pairs, start)["rounds"]}
    assert found() == replace(start, rounds=rounds)
    assert found("rounds") == start
