"""A side's cached products are those of its features, weights and graph, sparse or dense."""

import numpy as np
import pytest
from scipy import sparse

from core.batch.ocmf.side import MOST_CONDITIONED, FeatureMatrix, Pairs, Side
from core.errors import Diverged
from core.interactions import from_pairs
from tests.core import ranking

M, D, K = 12, 3, 4
RNG = np.random.default_rng(5)
X = (RNG.random((M, D)) < 0.7) * RNG.normal(size=(M, D))
P = RNG.uniform(0.1, 0.9, M)
ROWS = RNG.normal(size=(M, K))
LAPLACIAN = np.diag([1.0, 2.0, 1.0] + [0.0] * (M - 3))
LAPLACIAN[0, 1] = LAPLACIAN[1, 0] = LAPLACIAN[1, 2] = LAPLACIAN[2, 1] = -1.0


def featured(make, reg=0.5, **more):
    return Side(P, np.full(D, reg), FeatureMatrix(make(X), P), **more)


def linked(graph):
    return Side(P, np.linspace(0.1, 1.2, M), None, sparse.csr_array(LAPLACIAN), graph)


def test_pairs_give_the_sums_over_each_rows_partners():
    pairs = ranking.tiny()
    listed = Pairs(pairs)
    rng = np.random.default_rng(0)
    rows, partners = rng.normal(size=(9, K)), rng.normal(size=(7, K))
    weight = rng.uniform(0.5, 2.0, len(pairs))
    dense = np.zeros((9, 7))
    dense[pairs.user_ix, pairs.item_ix] = weight
    scores = (rows @ partners.T)[pairs.user_ix, pairs.item_ix]
    assert listed.row.tolist() == pairs.user_ix.tolist()
    assert np.allclose(listed.scores(rows, partners), scores)
    assert np.allclose(listed.weighted_sums(weight, partners), dense @ partners)
    curved = (dense * (rows @ partners.T)) @ partners
    assert np.allclose(listed.curved_sums(weight, rows, partners), curved)


def test_a_row_without_pairs_sums_to_zero_and_keeps_its_place():
    listed = Pairs(from_pairs(np.array([2]), np.array([1]), n_users=4, n_items=2))
    sums = listed.weighted_sums(np.array([3.0]), np.array([[5.0], [7.0]]))
    assert sums.ravel().tolist() == [0.0, 0.0, 21.0, 0.0]
    assert listed.row.tolist() == [2]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_features_carry_parameters_to_rows_and_back(make):
    side = featured(make)
    parameters = RNG.normal(size=(D, K))
    assert side.n_parameters == D
    assert np.allclose(side.rows(parameters), X @ parameters)
    assert np.allclose(side.back(ROWS), X.T @ ROWS)
    # the two are adjoint: this is what makes X'R the gradient of the parameters
    assert np.vdot(side.rows(parameters), ROWS) == pytest.approx(
        np.vdot(parameters, side.back(ROWS))
    )


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_the_gram_matrix_weighs_the_rows(make):
    wanted = X.T @ np.diag(P) @ X
    matrix = FeatureMatrix(make(X), P)
    assert np.allclose(matrix.gram, wanted)
    values, basis = matrix.spectrum
    assert np.allclose(basis @ np.diag(values) @ basis.T, wanted)


def test_without_features_parameters_are_the_rows():
    side = Side(P, np.full(M, 0.5))
    assert side.n_parameters == M
    assert side.rows(ROWS) is ROWS
    assert side.back(ROWS) is ROWS
    assert side.gram is None
    values, basis = side.spectrum
    assert values is P
    assert basis is None


@pytest.mark.parametrize(
    "matrix",
    [
        pytest.param(np.ones((2, 3)), id="more features than rows"),
        pytest.param(sparse.csr_array(np.eye(20, dtype=np.float32)), id="few entries"),
    ],
)
def test_a_gram_matrix_that_is_large_beside_its_features_is_not_used(matrix):
    features = FeatureMatrix(matrix, np.ones(matrix.shape[0]))
    assert features.gram is None
    assert features.whole_gram.shape == (matrix.shape[1], matrix.shape[1])


def test_too_many_features_are_not_decomposed():
    at_most, too_many = (
        FeatureMatrix(sparse.csr_array((2, d), dtype=np.float32), np.ones(2))
        for d in (8, MOST_CONDITIONED + 1)
    )
    assert at_most.spectrum is not None
    assert too_many.spectrum is None
    side = Side(np.ones(2), np.ones(MOST_CONDITIONED + 1), too_many)
    assert side.spectrum is None


def test_features_beyond_the_finite_numbers_are_refused_with_advice():
    matrix = FeatureMatrix(np.full((3, 2), 1e30), np.ones(3))
    with pytest.raises(Diverged, match="keep settings, weights, targets and features near 1"):
        _ = matrix.spectrum


def test_the_graph_pulls_linked_rows_only_if_it_has_a_weight():
    assert np.allclose(linked(0.7).smoothed(ROWS), 0.7 * (LAPLACIAN @ ROWS))
    assert linked(0.0).smoothed(ROWS) is None
    assert Side(P, np.ones(M), graph=0.7).smoothed(ROWS) is None


def test_the_penalty_is_the_diagonal_of_regularisation_and_graph():
    reg = np.linspace(0.1, 1.2, M)
    assert np.allclose(linked(0.7).penalty, np.diag(np.diag(reg) + 0.7 * LAPLACIAN))
    assert np.allclose(Side(P, reg).penalty, reg)
    # the spectrum of features is in another basis, where only the mean is known
    mixed = Side(P, np.array([0.2, 0.4, 0.9]), FeatureMatrix(X, P))
    assert np.allclose(mixed.penalty, 0.5)


def test_regularisation_is_that_of_each_row():
    side = Side(P, np.arange(M, dtype=np.float64))
    assert np.allclose(side.regularised(ROWS), np.diag(np.arange(M)) @ ROWS)
