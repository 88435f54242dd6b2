"""Thresholds against a solver of linear programs, and the probabilities of levels."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, minimize

from core.ordinal.thresholds import (
    _odds,
    hinge_thresholds,
    levels_of,
)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def sample(rng, n=120, levels=4):
    level = rng.integers(1, levels + 1, n)
    return 0.6 * level + rng.normal(size=n), level


def hinge_loss(b, scores, level, margin):
    above = level[:, None] > np.arange(1, len(b) + 1)
    short = np.where(above, margin - scores[:, None] + b, margin - b + scores[:, None])
    return np.maximum(short, 0.0).sum()


def linear_program(scores, level, levels, margin):
    """Return the least loss: variables b and one slack for each row and threshold."""
    n, k = len(scores), levels - 1
    sign = np.where(level[:, None] > np.arange(1, levels), 1.0, -1.0).ravel()
    each = sp.kron(np.ones((n, 1)), sp.eye(k)).tocsr()
    system = sp.hstack([sp.diags(sign) @ each, -sp.eye(n * k)])
    right = sign * np.repeat(scores, k) - margin
    cost = np.r_[np.zeros(k), np.ones(n * k)]
    bounds = [(None, None)] * k + [(0, None)] * (n * k)
    return linprog(cost, A_ub=system, b_ub=right, bounds=bounds).fun


@pytest.mark.parametrize("margin", [0.25, 1.0])
def test_the_hinge_is_that_of_the_linear_program(rng, margin):
    scores, level = sample(rng)
    found = hinge_thresholds(scores, level, 4, margin)
    least = linear_program(scores, level, 4, margin)
    assert hinge_loss(found, scores, level, margin) == pytest.approx(least, rel=1e-9)
    assert (np.diff(found) >= 0.0).all()


def test_a_level_without_rows_has_ordered_thresholds(rng):
    scores, level = sample(rng, levels=3)
    for given in (level, level + 1, np.where(level == 2, 1, level)):
        found = levels_of(scores, given, 4)
        assert (np.diff(found.thresholds) >= 0.0).all()
        assert (np.diff(found.cuts) >= 0.0).all()
        chances = found.probabilities(scores)
        assert np.isfinite(chances).all()
        assert not np.signbit(chances).any()


def test_the_odds_minimise_the_loss(rng):
    scores, level = sample(rng)
    sign = np.where(level[:, None] > np.arange(1, 4), 1.0, -1.0)

    def loss(theta):
        cuts, slope = theta[:3], theta[3]
        rows = np.logaddexp(0.0, -sign * (slope * scores[:, None] - cuts)).sum()
        more = 0.5 * (np.logaddexp(0.0, cuts) + np.logaddexp(0.0, -cuts)).sum()
        return rows + more + 0.5 * slope**2

    cuts, slope = _odds(scores, level, 4)
    least = minimize(loss, np.zeros(4), tol=1e-10)
    np.testing.assert_allclose(np.r_[cuts, slope], least.x, atol=1e-4)


def test_scores_that_contradict_the_levels_give_no_evidence(rng):
    scores, level = sample(rng)
    found = levels_of(-scores, level, 4)
    assert found.slope == 0.0
    np.testing.assert_allclose(
        found.probabilities(scores[:1])[0], np.bincount(level, minlength=5)[1:] / 120, atol=0.02
    )


def test_separated_levels_are_predicted_without_error():
    scores = np.array([0.0, 0.1, 1.0, 1.1, 2.0, 2.1])
    level = np.array([1, 1, 2, 2, 3, 3])
    found = levels_of(scores, level, 3)
    assert found.level(scores).tolist() == level.tolist()
    assert (1 + found.probabilities(scores).argmax(axis=1)).tolist() == level.tolist()


def test_equal_scores_give_finite_levels():
    found = levels_of(np.zeros(6), np.array([1, 1, 2, 2, 3, 3]), 3)
    assert np.isfinite(found.probabilities(np.zeros(2))).all()
