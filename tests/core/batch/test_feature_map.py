import numpy as np
import pytest
from scipy import sparse

from core.batch.feature_map import CONSTANT, LARGEST_FEATURE, checked, fit_features, unit_rows
from core.errors import DataError, ShapeError

X = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 2.0]])


@pytest.mark.parametrize("given", [X, sparse.csr_array(X)], ids=["dense", "sparse"])
def test_rows_have_length_1_and_an_empty_row_stays_empty(given):
    rows = unit_rows(checked(given))
    dense = rows.toarray() if sparse.issparse(rows) else rows
    np.testing.assert_allclose(dense, [[0.6, 0.8], [0.0, 0.0], [0.0, 1.0]], rtol=1e-6)


@pytest.mark.parametrize("given", [X, sparse.csr_array(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("centres", [0, 2])
def test_every_row_has_a_constant_after_its_features(given, centres):
    made = fit_features(given, centres=centres).transform(given)
    dense = made.toarray() if sparse.issparse(made) else made
    assert dense.shape == (3, 2 + 1 + centres)
    np.testing.assert_allclose(dense[:, 2], CONSTANT, rtol=1e-6)
    np.testing.assert_allclose(dense[:, :2], [[0.6, 0.8], [0.0, 0.0], [0.0, 1.0]], rtol=1e-6)


def test_sparse_features_without_landmarks_stay_sparse():
    assert sparse.issparse(fit_features(sparse.csr_array(X)).transform(sparse.csr_array(X)))


def test_a_map_depends_on_the_seed_alone():
    rng = np.random.default_rng(0)
    features = rng.random((30, 4))
    one, same, other = (fit_features(features, centres=5, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.transform(features), same.transform(features))
    assert not np.array_equal(one.transform(features), other.transform(features))


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (np.array([1.0]), ShapeError, "one row for each user"),
        (np.array([[np.nan]]), DataError, "NaN or infinite"),
        (np.array([[2 * LARGEST_FEATURE]]), DataError, "divide it by a constant"),
        (np.array([["1"]]), DataError, "encode texts as columns"),
        ("abc", DataError, "encode texts as columns"),
    ],
)
def test_features_that_are_not_finite_are_refused(given, error, says):
    with pytest.raises(error, match=says):
        checked(given)
