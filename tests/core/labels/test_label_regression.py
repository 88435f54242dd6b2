"""Regression of vectors on features: three solvers with one answer, and ADMM."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from core.errors import ConfigError, ShapeError
from core.labels.regression import Regression


def world(n=40, d=12, g=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    return X.astype(np.float32), rng.normal(size=(n, g)).astype(np.float32)


def exact(X, Z, reg):
    return np.linalg.solve(X.T @ X + reg * np.eye(X.shape[1]), X.T @ Z)


@pytest.mark.parametrize(
    ("shape", "most_direct"),
    [((40, 12), 99), ((12, 40), 20), ((40, 12), 1)],
    ids=["normal equations", "dual", "conjugate gradients"],
)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_ridge_solves_the_normal_equations(shape, most_direct, make):
    X, Z = world(*shape)
    solver = Regression(make(X), most_direct=most_direct)
    for reg in (0.3, 5.0):
        assert np.allclose(solver.ridge(Z, reg), exact(X.astype(float), Z, reg), atol=2e-3)
    labels = sparse.csr_array((Z > 1).astype(np.float32))
    assert np.allclose(solver.ridge(labels, 1.0), exact(X, labels.toarray(), 1.0), atol=2e-3)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("shape", [(8, 2_000), (2_000, 8)])
def test_only_the_smaller_system_is_built(make, shape):
    X, Z = world(*shape)
    tracemalloc.start()
    Regression(make(X)).ridge(Z, 1.0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2_000 * 2_000


def test_constant_and_absent_features_are_accepted():
    X, Z = world()
    X[:, 3], X[:, 4] = 1.0, 0.0
    weights = Regression(X).ridge(Z, 1.0)
    assert np.isfinite(weights).all()
    assert not weights[4].any()


def objective(W, X, Z, reg, l1, smooth=0.0):
    fitted = X @ W
    size = np.sqrt(fitted**2 + smooth**2).sum()
    return 0.5 * ((Z - fitted) ** 2).sum() + 0.5 * reg * (W**2).sum() + l1 * size


def test_admm_reaches_the_least_value_of_its_objective():
    X, Z = (one.astype(np.float64) for one in world(n=60, d=8))
    reg, l1 = 0.7, 0.2
    found = Regression(X.astype(np.float32)).admm(
        Z.astype(np.float32), reg, l1, rho=0.5, sweeps=2_000
    )
    start = np.zeros(found.size)
    for smooth in (1e-1, 1e-2, 1e-3, 1e-4):

        def value(w, smooth=smooth):
            W = w.reshape(found.shape)
            fitted = X @ W
            slope = fitted - Z + l1 * fitted / np.sqrt(fitted**2 + smooth**2)
            return objective(W, X, Z, reg, l1, smooth), (X.T @ slope + reg * W).ravel()

        start = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": 3000}).x
    least = objective(start.reshape(found.shape), X, Z, reg, l1)
    assert objective(found, X, Z, reg, l1) == pytest.approx(least, rel=1e-3)


def test_with_the_published_constants_admm_is_ridge():
    X, Z = world(n=60, d=8)
    found = Regression(X).admm(Z, 2.5, 0.01, rho=0.001, sweeps=2)
    assert np.allclose(found, Regression(X).ridge(Z, 2.5), rtol=1e-2, atol=1e-3)


def test_problems_without_a_solution_are_refused():
    X, Z = world()
    with pytest.raises(ConfigError, match="reg must be above 0"):
        Regression(X).ridge(Z, 0.0)
    with pytest.raises(ShapeError, match="40 points need one target each"):
        Regression(X).ridge(Z[:-1], 1.0)
    with pytest.raises(ConfigError, match="ADMM needs"):
        Regression(X).admm(Z, 1.0, 0.1, rho=0.0, sweeps=3)
