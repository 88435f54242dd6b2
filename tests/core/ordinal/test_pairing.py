"""The risk on pairs of levels: the sum over all pairs, and its slopes."""

import numpy as np
import pytest

from core.errors import DataError
from core.ordinal.pairing import pairing
from tests.core import reference_ordinal as naive
from tests.core.levels import LEVELS, group_sizes, levelled


def group_means(scores, group):
    return np.array([scores[group == c].mean() if (group == c).any() else 0.0 for c in range(5)])


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_the_risk_is_the_mean_over_all_pairs(gamma):
    _, _, group = levelled()
    scores = np.random.default_rng(1).normal(size=60)
    pairs = pairing(group_sizes(group), gamma)
    found = pairs.risk(group_means(scores, group), group_means(scores**2, group))
    assert found == pytest.approx(naive.risk(scores, group, LEVELS, gamma), rel=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_the_slopes_are_the_differences_of_the_risk(gamma):
    _, _, group = levelled()
    scores = np.random.default_rng(1).normal(size=60)
    slopes = pairing(group_sizes(group), gamma).slopes(scores, group)
    h = 1e-5
    for at in range(0, 60, 7):
        up, down = scores.copy(), scores.copy()
        up[at] += h
        down[at] -= h
        change = naive.risk(up, group, LEVELS, gamma) - naive.risk(down, group, LEVELS, gamma)
        assert slopes[at] == pytest.approx(change / (2 * h), abs=1e-8)


def test_the_linear_part_does_not_depend_on_the_unlabelled_rows():
    _, _, group = levelled()
    one, other = (pairing(group_sizes(group), gamma).linear for gamma in (0.0, 1.0))
    np.testing.assert_allclose(one, other, atol=1e-15)


def test_a_level_without_rows_leaves_its_splits_whole():
    pairs = pairing(np.array([0, 3, 0, 3, 0]), 1.0)
    twice = pairing(np.array([0, 3, 3]), 1.0)
    np.testing.assert_allclose(pairs.square[[1, 3]], twice.square[1:])
    assert pairs.square[[2, 4]].tolist() == [0.0, 0.0]


def test_without_unlabelled_rows_gamma_is_1():
    sizes = np.array([0, 5, 3, 4])
    one, other = pairing(sizes, 0.2), pairing(sizes, 1.0)
    np.testing.assert_array_equal(one.square, other.square)
    np.testing.assert_array_equal(one.cross, other.cross)
    assert one.constant == other.constant


def test_rows_of_one_level_are_refused():
    with pytest.raises(DataError, match="at least two levels"):
        pairing(np.array([7, 0, 5, 0]), 0.5)
