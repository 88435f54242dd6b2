import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from core.batch.weighting import (
    constant_loss,
    mean_count,
    mean_weight,
    negative_weights,
    scaled_reg,
    unit_reg,
)
from core.interactions import from_pairs

COUNTS = arrays.arrays(np.int64, st.integers(1, 20), elements=st.integers(0, 1_000))


@given(COUNTS, st.floats(0.01, 1e4), st.floats(0.0, 1.0))
def test_weights_of_unlabelled_pairs_add_up_and_rise_with_the_count(counts, alpha0, rho):
    weights = negative_weights(counts, alpha0, rho)
    assert float(weights.sum(dtype=np.float64)) == pytest.approx(alpha0, rel=1e-4)
    order = np.argsort(counts, kind="stable")
    assert (np.diff(weights[order]) >= -1e-6 * alpha0).all()


@given(COUNTS, st.floats(0.01, 10.0))
def test_regularisation_grows_with_the_count_to_the_power_of_nu(counts, reg):
    mean = mean_count(counts)
    np.testing.assert_allclose(scaled_reg(counts, reg, 0.0, mean), reg, rtol=1e-5)
    wanted = reg * np.maximum(counts, 1) / mean
    np.testing.assert_allclose(scaled_reg(counts, reg, 1.0, mean), wanted, rtol=1e-5)


def some_pairs(weight=None, target=None):
    users, items = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 3])
    return from_pairs(users, items, n_users=4, n_items=5, weight=weight, target=target)


def test_the_mean_weight_is_that_of_the_positives():
    assert mean_weight(some_pairs()) == 1.0
    weight = np.array([1.0, 3.0, 5.0, 7.0])
    assert mean_weight(some_pairs(weight)) == 4.0
    assert mean_weight(some_pairs(weight, np.array([1.0, 1.0, 0.0, 0.0]))) == 2.0
    assert mean_weight(some_pairs(weight, np.zeros(4))) == 4.0


def test_the_unit_of_regularisation_grows_with_the_weights():
    weight = np.full(4, 10.0)
    assert unit_reg(some_pairs(weight)) == pytest.approx(10.0 * unit_reg(some_pairs()))


@pytest.mark.parametrize("below", [0.0, -1.0])
def test_the_constant_is_the_loss_of_scores_that_are_all_0(below):
    weight, target = np.array([1.0, 3.0, 5.0, 7.0]), np.array([1.0, 1.0, 0.5, 0.0])
    pairs = some_pairs(weight, target)
    negative = np.linspace(0.1, 0.5, 5).astype(np.float32)
    dense = np.tile(negative * below**2, (4, 1)).astype(np.float64)
    for u, y, w, r in zip(pairs.user_ix, pairs.item_ix, weight, target, strict=True):
        dense[u, y] = w * r**2
    assert constant_loss(pairs, negative, below) == pytest.approx(dense.sum(), rel=1e-5)
