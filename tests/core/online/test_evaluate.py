import numpy as np
import pytest

from core.errors import ConfigError
from core.online import evaluate
from core.online.config import OnlineConfig
from core.online.evaluate import ClassCoverage, OnlineRun, Outputs
from core.online.experts import PassiveAggressive
from core.online.model import OnlineModel
from core.rng import id_hashes


def test_a_random_split_is_a_permutation_that_the_seed_repeats():
    split = evaluate.random_split(10, 0.2, seed=3)
    again = evaluate.random_split(10, 0.2, seed=3)
    assert sorted([*split.train, *split.test]) == list(range(10))
    assert split.test.size == 2
    np.testing.assert_array_equal(split.train, again.train)
    assert (evaluate.random_split(10, 0.2, seed=4).train != split.train).any()


def test_a_time_split_tests_the_latest_and_keeps_the_order_of_equal_times():
    split = evaluate.time_split(np.array([5, 1, 5, 2, 5]), 0.4)
    assert [*split.train] == [1, 3, 0]
    assert [*split.test] == [2, 4]


@pytest.mark.parametrize(("n", "fraction"), [(1, 0.2), (10, 0.0), (10, 1.0), (10, float("nan"))])
def test_a_split_without_a_part_is_refused(n, fraction):
    with pytest.raises(ConfigError):
        evaluate.random_split(n, fraction, seed=0)


def test_both_parts_have_a_rating_at_least():
    assert evaluate.random_split(2, 0.2, seed=0).test.size == 1
    assert evaluate.random_split(2, 0.9, seed=0).train.size == 1


def test_coverage_is_counted_in_classes_of_user_and_item_events():
    rating = np.array([1.0, 2.0, 3.0])
    low, high = np.array([1.0, 2.5, 0.0]), np.array([1.0, 3.0, 9.0])
    outputs = Outputs(rating, rating, low, high, rating[:, None])
    classes = evaluate.coverage_by_class(
        outputs, rating, np.array([4, 5, 5]), np.array([80, 19, 5])
    )
    assert classes == [
        ClassCoverage("0-4", "80+", 1, 1.0),
        ClassCoverage("5-19", "5-19", 2, 0.5),
    ]
    assert evaluate.covered(low, high, rating) == pytest.approx(2 / 3)


def test_a_run_in_chunks_is_the_same_as_in_one_piece():
    config = OnlineConfig(experts=(PassiveAggressive(rank=3),), aggregator="uniform")
    rng = np.random.default_rng(0)
    user_ix, item_ix = rng.integers(0, 5, (2, 100))
    rating = rng.uniform(1.0, 5.0, 100)
    outputs, heard = [], []
    for size in (1000, 30):
        hashes = id_hashes("abcde"), id_hashes("vwxyz")
        run = OnlineRun(OnlineModel(config), *hashes, learn_chunk=size, predict_chunk=size)
        online = run.learn(user_ix, item_ix, rating, heard.append, with_parts=True)
        outputs.append((online, run.predict(user_ix, item_ix)))
    for one, other in zip(*outputs, strict=True):
        for name, values in vars(one).items():
            np.testing.assert_array_equal(values, getattr(other, name))
    assert heard == [100, 30, 60, 90, 100]
