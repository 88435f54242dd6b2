"""AUC over levels beside all pairs, and levels of equal frequency."""

import numpy as np
import pytest

from core.errors import DataError
from core.ordinal.metrics import equal_levels, mean_auc
from tests.core import reference_ordinal as naive


def test_auc_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(7)
    scores, level = rng.integers(0, 6, 50).astype(float), rng.integers(1, 5, 50)
    assert mean_auc(scores, level) == pytest.approx(naive.mean_auc(scores, level), abs=1e-12)


def test_equal_values_share_a_level():
    assert equal_levels(np.array([1.0, 1.0, 1.0, 2.0, 3.0]), 5).tolist() == [1, 1, 1, 2, 3]
    with pytest.raises(DataError, match="one level"):
        equal_levels(np.ones(4), 5)


def test_rows_of_one_level_have_no_auc():
    with pytest.raises(DataError, match="at least two levels"):
        mean_auc(np.array([0.1, 0.2]), np.array([2, 2]))


def test_levels_are_about_equally_frequent_and_rise_with_the_target():
    target = np.random.default_rng(1).normal(size=500)
    level = equal_levels(target, 4)
    assert np.bincount(level)[1:].tolist() == [125] * 4
    assert (np.diff(level[np.argsort(target)]) >= 0).all()
