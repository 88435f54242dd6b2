"""The search of label models: it beats its start; refusals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from core.batch.ocmf import labels as label_search
from core.batch.ocmf.config import LabelConfig, OcmfConfig, with_label_settings
from core.batch.ocmf.labels import LabelModel, precisions, search
from core.errors import DataError, Diverged, ShapeError
from core.interactions import Interactions, from_pairs
from core.search.search import Budget, Outcome, Trial
from tests.core.labelled import points

START = LabelConfig(OcmfConfig(weight=1.0, reg=10.0, factors=12, rounds=1))


class Trials:
    """A clock that advances one second per call, so that a budget counts trials."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        self.seconds += 1.0
        return self.seconds


def judged(config, train, test):
    return precisions(LabelModel(config).fit(*train).ranked(test[0], 5), test[1])


def test_the_search_finds_better_settings_than_a_bad_start():
    train, test = points(), points(seed=1)
    found = search(*train, START, Budget(Trials(), 40.0))
    assert judged(found, train, test)["p@1"] > judged(START, train, test)["p@1"] + 5.0


def test_stated_settings_stay():
    train = points()
    base = with_label_settings(START, {"reg": 0.25})
    found = search(*train, base, Budget(Trials(), 20.0), fixed=frozenset({"reg", "rounds"}))
    assert found.model.reg == 0.25
    assert found.model.rounds == 1


def test_rounds_are_searched_even_if_they_are_the_only_open_setting():
    many, stated = (
        with_label_settings(START, {"rounds": 4}),
        frozenset({"weight", "reg", "landmarks"}),
    )
    found = search(*points(), many, Budget(Trials(), 20.0), fixed=stated)
    assert found == with_label_settings(many, {"rounds": 1})
    assert judged(found, points(), points(seed=1))["p@1"] > 70.0
    assert judged(many, points(), points(seed=1))["p@1"] < 60.0
    assert search(*points(), many, Budget(Trials(), 20.0), fixed=stated | {"rounds"}) == many


def test_a_finalist_that_diverges_on_a_further_split_is_not_the_best():
    X, labels = points()
    beyond, good = ({"target": target} for target in (1e30, 0.0))
    with pytest.raises(Diverged):
        LabelModel(with_label_settings(START, {"target": 1e30})).fit(X, labels)
    trials = [Trial(np.zeros(1), settings, Outcome(90.0, {}), 1.0) for settings in (beyond, good)]
    until, rng = (Trials(), 100.0), np.random.default_rng(0)
    assert label_search._final(trials, X, labels, START, until, rng).settings == good


def test_without_a_budget_the_start_is_returned():
    assert search(*points(), START, Budget(Trials(), 0.0)) == START


def test_a_search_on_few_points_is_refused():
    X, labels = points(10)
    with pytest.raises(DataError, match="too few to choose settings"):
        search(X, labels, START, Budget(Trials(), 10.0))
    nothing = Interactions(3, np.zeros(101, np.int64), np.empty(0, np.int32))
    with pytest.raises(DataError, match="labelled points"):
        search(np.ones((100, 2)), nothing, START, Budget(Trials(), 10.0))


def test_features_and_labels_must_be_of_the_same_points():
    X, labels = points(30)
    with pytest.raises(ShapeError, match="features of 20 points, but labels of 30"):
        LabelModel(START).fit(X[:20], labels)


def test_points_without_features_or_labels_get_an_answer():
    X, labels = points(50)
    X = X.tolil()
    X[:5] = 0.0
    config = replace(START, landmarks=8)
    ranked = LabelModel(config).fit(sparse.csr_array(X), labels).ranked(sparse.csr_array(X), 5)
    assert (np.sort(ranked, axis=1)[:, 0] >= 0).all()


def test_precision_counts_points_without_labels_as_wrong():
    truth = from_pairs(np.array([0, 0, 1]), np.array([0, 1, 2]), n_users=4, n_items=9)
    ranked = np.array([[0, 1, 5, 6, 7], [3, 4, 2, 5, 6], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]])
    found = precisions(ranked.astype(np.int32), truth)
    assert found == pytest.approx({"p@1": 25.0, "p@3": 25.0, "p@5": 15.0})
