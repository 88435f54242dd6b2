"""The paper's figures and experts on MovieLens 100K, through `hedgerow eval`."""

from pathlib import Path

import numpy as np
import pytest

from service.evaluation.online import OnlineOptions, evaluate_online
from service.files.ratings import read_ratings

DATA = Path(__file__).parents[4] / "shared" / "data" / "ml-100k" / "ratings.csv.gz"
PUBLISHED = {"nn-pa": (0.8199, 0.7837, 0.7961), "nn-apa-diag": (0.7663, 0.7706, 0.7685)}
"""Test MAE at rank 5, 10, 15 [NN-APA, table 2]."""

pytestmark = [
    pytest.mark.quality,
    pytest.mark.skipif(not DATA.exists(), reason=f"no data at {DATA}"),
]


@pytest.fixture(scope="module")
def ratings():
    return read_ratings(DATA)


def mean_mae(ratings, **request):
    return np.mean(
        [
            evaluate_online(ratings, OnlineOptions(seed=seed, **request))["test_mae"]
            for seed in (0, 1)
        ]
    )


def test_the_diagonal_metric_and_the_papers_experts_do_well_from_our_start(ratings):
    assert mean_mae(ratings, model="nn-apa-diag", given={"c": 0.02}) <= 0.757
    assert mean_mae(ratings, model="nn-apa-full") <= 0.757
    assert mean_mae(ratings, experts="paper") <= 0.762


@pytest.mark.parametrize("column", [0, 1, 2])
def test_the_start_of_the_paper_reproduces_its_figures(ratings, column):
    rank = (5, 10, 15)[column]
    found = {model: mean_mae(ratings, model=model, init="paper", rank=rank) for model in PUBLISHED}
    for model, published in PUBLISHED.items():
        assert found[model] == pytest.approx(published[column], abs=0.02)
    assert found["nn-apa-diag"] < found["nn-pa"]
