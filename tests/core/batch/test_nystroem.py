"""Non-linear features: their products approximate the kernel; odd rows are mapped too."""

import numpy as np
import pytest
from scipy import sparse

from core.batch.feature_map import CONSTANT, checked, fit_features, unit_rows
from core.batch.nystroem import distances, fit_nystroem, k_means
from core.errors import ConfigError, DataError, ShapeError


def cloud(n=60, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_distances_are_those_of_the_rows(make):
    rows, centres = cloud(), cloud(7, seed=1)
    wanted = np.square(rows[:, None] - centres[None]).sum(axis=2)
    np.testing.assert_allclose(distances(make(rows), centres), wanted, rtol=1e-4, atol=1e-4)


def test_with_every_point_as_a_centre_the_products_are_the_kernel():
    rows = cloud(30)
    made = fit_nystroem(rows, 30, 0.5, np.random.default_rng(0))
    z = made.transform(rows)
    kernel = np.exp(-0.5 * np.square(rows[:, None] - rows[None]).sum(axis=2))
    np.testing.assert_allclose(z @ z.T, kernel, atol=5e-3)


def test_equal_points_leave_the_map_finite():
    rows = np.ones((20, 3), np.float32)
    z = fit_nystroem(rows, 10, 1.0, np.random.default_rng(0)).transform(rows)
    assert np.isfinite(z).all()


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_centres_find_far_groups(make):
    rng = np.random.default_rng(3)
    group = rng.integers(0, 3, 90)
    rows = (10.0 * np.eye(3)[group] + 0.1 * rng.normal(size=(90, 3))).astype(np.float32)
    centres = k_means(make(rows), 12, rng)
    nearest = distances(rows, centres).min(axis=1)
    assert nearest.max() < 1.0
    assert centres.shape == (12, 3)


def test_a_seed_gives_the_same_map():
    rows = sparse.csr_array(cloud())
    one, other = (fit_features(rows, centres=9, seed=4).transform(rows) for _ in range(2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("centres", [0, 6])
def test_rows_get_length_one_and_a_constant(make, centres):
    rows = cloud(20)
    rows[4] = 0.0
    mapped = fit_features(make(rows), centres=centres).transform(make(rows))
    dense = mapped if isinstance(mapped, np.ndarray) else mapped.toarray()
    assert dense.dtype == np.float32
    assert dense.shape == (20, 5 + centres + 1)
    length = np.linalg.norm(dense[:, :5], axis=1)
    np.testing.assert_allclose(np.delete(length, 4), 1.0, rtol=1e-5)
    assert length[4] == 0.0
    np.testing.assert_array_equal(dense[:, 5], np.float32(CONSTANT))


def test_linear_sparse_features_stay_sparse():
    rows = sparse.csr_array(cloud())
    assert sparse.issparse(fit_features(rows).transform(rows))


def test_fewer_points_than_centres_are_all_centres():
    assert fit_features(cloud(4), centres=100).transform(cloud(3)).shape == (3, 5 + 4 + 1)


def test_bad_features_are_refused():
    with pytest.raises(DataError, match="correct or remove"):
        checked(sparse.csr_array(np.array([[np.inf, 1.0]])))
    with pytest.raises(ShapeError, match="one row for each user"):
        unit_rows(checked([1.0, 2.0]))
    with pytest.raises(ConfigError, match="gamma > 0"):
        fit_features(cloud(), centres=3, gamma=0.0)
