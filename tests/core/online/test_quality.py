"""The quality of the default set: one pass over real ratings, with the bars of
docs/explanation/online-learning.md.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from core.online.config import OnlineConfig
from core.online.evaluate import OnlineRun, coverage_by_class, mae, random_split, rmse, time_split
from core.online.model import OnlineModel
from core.rng import id_hashes

DATA = Path(__file__).parents[4] / "shared" / "data"

pytestmark = [
    pytest.mark.quality,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"no data sets in {DATA}"),
]


@cache
def ratings(name):
    """Return user_ix, item_ix, rating, seconds and both lists of ids of a MovieLens file."""
    columns = np.loadtxt(
        DATA / name / "ratings.csv.gz", delimiter=",", skiprows=1, usecols=range(4)
    ).T
    users, user_ix = np.unique(columns[0], return_inverse=True)
    items, item_ix = np.unique(columns[1], return_inverse=True)
    ids = ([f"{number:.0f}" for number in side] for side in (users, items))
    return user_ix, item_ix, columns[2], columns[3].astype(np.int64), *ids


def one_pass(name, split, seed=0):
    """Return the errors and coverages of the default set on one split."""
    user_ix, item_ix, rating, _, user_ids, item_ids = ratings(name)
    run = OnlineRun(OnlineModel(OnlineConfig(seed=seed)), id_hashes(user_ids), id_hashes(item_ids))
    train, test = split.train, split.test
    online = run.learn(user_ix[train], item_ix[train], rating[train])
    frozen = run.predict(user_ix[test], item_ix[test])
    counts = [np.bincount(ix[train], minlength=ix.max() + 1)[ix[test]] for ix in (user_ix, item_ix)]
    inside = (frozen.low <= rating[test]) & (rating[test] <= frozen.high)
    return {
        "online": mae(online.rating, rating[train]),
        "mae": mae(frozen.rating, rating[test]),
        "rmse": rmse(frozen.mean, rating[test]),
        "coverage": inside.mean(),
        "classes": coverage_by_class(frozen, rating[test], *counts),
    }


@cache
def random_passes(name, seeds):
    n = ratings(name)[2].size
    return [one_pass(name, random_split(n, 0.2, seed), seed) for seed in range(seeds)]


def average(name, what, seeds):
    return np.mean([measured[what] for measured in random_passes(name, seeds)])


def test_ml_100k_is_predicted_better_than_by_batch_svd():
    assert average("ml-100k", "mae", 5) <= 0.7148
    assert average("ml-100k", "rmse", 5) <= 0.9155


def test_ml_100k_is_predicted_well_in_the_order_of_time():
    measured = one_pass("ml-100k", time_split(ratings("ml-100k")[3] * 1000, 0.2))
    assert measured["online"] <= 0.728


def test_eight_in_ten_ratings_of_ml_100k_fall_in_their_interval():
    assert average("ml-100k", "coverage", 5) == pytest.approx(0.80, abs=0.02)


@pytest.mark.slow
def test_ml_1m_is_predicted_better_than_by_batch_svd():
    assert average("ml-1m", "mae", 2) <= 0.670
    assert average("ml-1m", "rmse", 2) <= 0.860


@pytest.mark.slow
def test_ml_1m_is_predicted_well_in_the_order_of_time():
    measured = one_pass("ml-1m", time_split(ratings("ml-1m")[3] * 1000, 0.2))
    assert measured["online"] <= 0.690


@pytest.mark.slow
def test_intervals_hold_in_every_large_class_of_ml_1m():
    for measured in random_passes("ml-1m", 2):
        assert measured["coverage"] == pytest.approx(0.80, abs=0.02)
        for large in (group for group in measured["classes"] if group.n >= 1_000):
            assert 0.74 <= large.coverage80 <= 0.86, large
