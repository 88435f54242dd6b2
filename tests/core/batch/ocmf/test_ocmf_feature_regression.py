"""Features fitted to the vectors of users."""

import numpy as np
import pytest
import scipy.sparse as sp

from core.batch.ocmf.feature_regression import ridge, with_regression
from core.batch.ocmf.users import StructuredUsers
from core.batch.row_objective import diagonalised
from core.errors import ShapeError


def test_the_ridge_is_the_one_of_the_normal_equations():
    rng = np.random.default_rng(0)
    features = sp.random_array((300, 40), density=0.2, rng=rng, format="csr")
    targets = rng.normal(size=(300, 5)).astype(np.float32)
    gram = (features.T @ features).toarray() + 3.0 * np.eye(40)
    wanted = np.linalg.solve(gram, features.T @ targets.astype(np.float64))
    assert np.allclose(ridge(features, targets, 3.0), wanted, atol=1e-4 * np.abs(wanted).max())


def test_empty_columns_and_absent_features_have_no_weight():
    features = sp.csr_array(np.array([[1.0, 0.0], [1.0, 0.0]]))
    weights = ridge(features, np.array([[2.0, 0.0], [2.0, 0.0]], np.float32), 1.0)
    assert np.allclose(weights, [[4 / 3, 0.0], [0.0, 0.0]])


def test_new_users_resemble_users_with_the_same_features():
    rng = np.random.default_rng(1)
    group = rng.integers(0, 2, 400)
    tastes = rng.normal(size=(2, 6))
    vectors = (tastes[group] + 0.1 * rng.normal(size=(400, 6))).astype(np.float32)
    row = diagonalised(
        rng.normal(size=(20, 6)),
        np.full(20, 0.1, np.float32),
        negative_target=0.0,
        reg=1.0,
        nu=0.5,
        mean_count=5.0,
    )
    users = with_regression(
        StructuredUsers(row), vectors, sp.csr_array(np.eye(2, dtype=np.float32)[group])
    )
    ours = users.feature_vectors(sp.csr_array(np.eye(2, dtype=np.float32)))
    apart = np.linalg.norm(tastes[0] - tastes[1])
    assert np.linalg.norm(ours - tastes, axis=1).max() < 0.3 * apart
    nobody = np.empty(0, np.int32)
    assert np.array_equal(users.vector(nobody, feature_vector=ours[0]), ours[0])


def test_features_of_another_number_of_users_are_refused():
    row = diagonalised(
        np.eye(3), np.ones(3, np.float32), negative_target=0.0, reg=1.0, nu=0.0, mean_count=1.0
    )
    with pytest.raises(ShapeError):
        with_regression(
            StructuredUsers(row), np.ones((4, 3), np.float32), sp.csr_array(np.ones((3, 2)))
        )
