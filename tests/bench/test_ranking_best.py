"""Tests of the random search that the program's own settings are compared with."""

import time
from dataclasses import replace

import numpy as np
import pytest

from bench import ranking_best
from bench.attempts import METRICS, Attempt, Attempts
from bench.ranking_own import OWN
from core.batch.fbgd.model import Fbgd
from core.interactions import from_pairs
from core.splits import random_split


@pytest.fixture
def contest():
    rng = np.random.default_rng(0)
    user, item = rng.integers(0, 40, 600), rng.integers(0, 60, 600) ** 2 // 60
    train, test = random_split(from_pairs(user, item), 0.2, rng)
    return ranking_best.Contest("tiny", 0, train, test, time.perf_counter)


def scored(value, seed=0):
    return Attempt("tiny", seed, "fBGD", {}, dict.fromkeys(METRICS, value), 0.0)


def test_a_search_continues_where_its_table_ends(contest, tmp_path):
    table = tmp_path / "fits.csv"
    ranking_best.best_known(contest, "ndcg@10", Attempts(table), {"tiny": (2, 0)})
    first = table.read_text()
    best = ranking_best.best_known(contest, "ndcg@10", Attempts(table), {"tiny": (2, 4)})
    lines = table.read_text()
    assert lines.startswith(first)
    assert lines.count("\n") == 7
    found = Attempts(table).find("tiny", 0, ranking_best.DRAWN)
    assert best.scores["ndcg@10"] == pytest.approx(
        max(a.scores["ndcg@10"] for a in found), abs=1e-5
    )


@pytest.mark.parametrize("shrinkage", [0.0, 4.0])
def test_a_setting_is_reported_with_its_best_epoch(contest, shrinkage):
    config = replace(
        ranking_best.drawn(contest.train, np.random.default_rng(3)), shrinkage=shrinkage
    )
    found = ranking_best.tried(contest, config, "ndcg@10", reached=0.0)
    again = Fbgd(replace(config, epochs=found.settings["epochs"]))
    again.fit(contest.train)
    scores = contest.scores(again.user_vectors(contest.train), again.item_factors)
    assert scores == pytest.approx(found.scores)


@pytest.mark.parametrize("model", [OWN, ranking_best.STATED])
def test_attempts_of_other_searches_count_too(contest, tmp_path, model):
    table = Attempts(tmp_path / "fits.csv")
    near = {"factors": 24, "alpha0": 90.0, "reg": 1.0, "nu_user": 0.4, "nu_item": 0.4, "draw": 2.0}
    own = replace(scored(0.99), settings=near, model=model)
    table.add([own])
    assert ranking_best.best_known(contest, "ndcg@10", table, {"tiny": (1, 1)}) is own
    # The second setting is drawn near the best attempt, the first from the whole range.
    draws = [one.settings.get("draw") for one in table.find("tiny", 0, ranking_best.DRAWN)]
    assert draws == [None, 2.0]


def test_settings_near_the_best_stay_in_their_bounds():
    known = {"factors": 512.0, "alpha0": 9.0, "reg": 2.0, "nu_user": 1.0, "nu_item": 0.0}
    for seed in range(20):
        config = ranking_best.near(known, np.random.default_rng(seed))
        assert 16 <= config.factors <= 512
        assert config.factors % 8 == 0
        assert config.nu_user <= 1.0
        assert config.nu_item >= 0.0


def test_the_worst_search_counts():
    ours, known = [scored(0.3), scored(0.38)], [scored(0.3), scored(0.4)]
    figure = ranking_best.figure("tiny", "ndcg@10", ours, known, {"tiny": (1, 1)})
    assert figure.value == pytest.approx(0.95)
    assert figure.passes is False
