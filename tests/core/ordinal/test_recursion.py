"""The doubly stochastic recursion beside its naive twin, plain descent and the closed form."""

import numpy as np
import pytest

from core.errors import Diverged
from core.ordinal.closed_form import in_features
from core.ordinal.pairing import pairing
from core.ordinal.random_features import RandomFeatures
from core.ordinal.recursion import Steps, descend
from tests.core import reference_ordinal as naive
from tests.core.levels import LEVELS, group_sizes, levelled


def test_the_recursion_is_the_one_that_recomputes_every_block():
    x, _, group = levelled()
    features = RandomFeatures(np.full(3, 0.7), 6, 1)
    by = Steps(steps=15, reg=0.5, per_level=3, unlabelled=5, gamma=0.4, seed=2)
    found = descend(x.astype(np.float32), group, LEVELS, features, by)
    expected = naive.descend(x.astype(np.float32), group, LEVELS, features, by)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_with_one_block_the_recursion_is_plain_descent_in_its_features():
    x, _, group = levelled()
    features = RandomFeatures(np.full(3, 0.7), 6, 1)
    by = Steps(steps=25, reg=0.5, per_level=3, unlabelled=5, gamma=0.4, blocks=1, seed=2)
    found = descend(x.astype(np.float32), group, LEVELS, features, by)
    expected = naive.plain_descent(x.astype(np.float32), group, LEVELS, features, by)
    np.testing.assert_allclose(found[0], expected, atol=1e-6)


def test_a_step_that_forgets_everything_is_no_division_by_zero():
    x, _, group = levelled()
    # theta 2 and no limit of the first step, as printed: the second step forgets everything
    by = Steps(steps=6, reg=0.5, theta=2.0, first=1e9, per_level=3, unlabelled=5, seed=2)
    assert 1.0 - by.size(2) * by.reg == pytest.approx(0.0, abs=1e-8)
    features = RandomFeatures(np.full(3, 0.7), 6, 1)
    found = descend(x.astype(np.float32), group, LEVELS, features, by)
    expected = naive.descend(x.astype(np.float32), group, LEVELS, features, by)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_the_steps_lead_to_the_closed_form():
    x, _, group = levelled()
    features, reg = RandomFeatures(np.full(3, 0.7), 8, 1), 0.1
    by = Steps(steps=4000, reg=reg, per_level=40, unlabelled=40, blocks=1, gamma=0.5)
    z = x.astype(np.float32)
    steps = descend(z, group, LEVELS, features, by)[0]
    solved = in_features(z, group, features.frequencies(0), pairing(group_sizes(group), 0.5), reg)
    scores = features.of(0, z) @ np.stack([steps, solved], axis=1)
    assert np.abs(scores[:, 0] - scores[:, 1]).max() < 0.1 * scores[:, 1].std()


def test_steps_that_leave_the_finite_numbers_are_reported():
    x, _, group = levelled()
    features = RandomFeatures(np.full(3, 0.7), 6, 1)
    by = Steps(steps=400, reg=1e-6, theta=1e9, first=1e9, per_level=3, unlabelled=5, blocks=1)
    with pytest.raises(Diverged, match="larger reg"), np.errstate(all="ignore"):
        descend(x.astype(np.float32), group, LEVELS, features, by)
