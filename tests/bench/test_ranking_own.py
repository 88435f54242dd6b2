"""Tests of the searches behind our own attempts in the ranking bench."""

import time

import numpy as np
import pytest

from bench import ranking_own
from bench.attempts import METRICS, Attempts
from bench.ranking_contest import Contest
from core.splits import random_split
from tests.core.ranking import tribes


def test_gowallas_single_split_is_searched_as_often_as_others_have_splits():
    assert ranking_own.searches_of("Gowalla", 3) == [(0, 0), (0, 1), (0, 2)]
    assert ranking_own.searches_of("ML-1M", 3) == [(0, 0), (1, 1), (2, 2)]


def test_each_search_runs_once_and_is_kept(tmp_path):
    train, test = random_split(tribes(), 0.2, np.random.default_rng(0))
    over, table = Contest("tiny", 0, train, test, time.perf_counter), tmp_path / "fits.csv"
    first = [ranking_own.our_attempt(over, seed, 1.0, Attempts(table)) for seed in (0, 1)]
    assert [one.settings["seed"] for one in first] == [0, 1]
    again = [ranking_own.our_attempt(over, seed, 1.0, Attempts(table)) for seed in (0, 1)]
    assert table.read_text().count("\n") == 3
    for one, other in zip(first, again, strict=True):
        assert other.scores == pytest.approx({name: one.scores[name] for name in METRICS}, abs=1e-5)
