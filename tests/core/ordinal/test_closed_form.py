"""The closed forms of the ordinal score: no slope is left, and rows agree with features."""

from itertools import product

import numpy as np
import pytest

from core.ordinal.closed_form import in_features, in_rows
from core.ordinal.pairing import pairing
from core.ordinal.random_features import RandomFeatures, waves
from tests.core.levels import group_sizes, levelled


@pytest.mark.parametrize(("gamma", "m"), list(product([0.4, 1.0], [12, 50])))
def test_the_closed_form_has_no_slope(gamma, m):
    # 24 features are fewer than the rows, 100 are more: two solvers
    x, _, group = levelled()
    reg, pairs = 0.05, pairing(group_sizes(group), gamma)
    frequencies = RandomFeatures(np.full(3, 0.7), m, 0).frequencies(0)
    weights = in_features(x.astype(np.float32), group, frequencies, pairs, reg)
    features = waves(x.astype(np.float32), frequencies).astype(np.float64) / m**0.5
    slope = features.T @ pairs.slopes(features @ weights, group) + reg * weights
    assert np.abs(slope).max() < 1e-6


def test_the_closed_form_in_rows_is_that_in_features():
    x, _, group = levelled()
    pairs = pairing(group_sizes(group), 0.4)
    frequencies = RandomFeatures(np.full(3, 0.7), 12, 0).frequencies(0)
    features = waves(x.astype(np.float32), frequencies).astype(np.float64) / 12**0.5
    weights = in_features(x.astype(np.float32), group, frequencies, pairs, 0.05)
    rows = in_rows(features @ features.T, group, pairs, 0.05)
    np.testing.assert_allclose(features @ weights, features @ (features.T @ rows), atol=1e-5)
