"""Both solvers of a fit and user-defined losses, beside brute force over all pairs."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import optimize

from core.batch.losses import LogisticLoss, SquareLoss
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.fit import DESCENT_STEPS, ROUND, OcmfFit
from core.batch.ocmf.graph import laplacian, similarity
from core.batch.ocmf.model import Ocmf, users_of
from core.batch.ocmf.subproblem import Partners
from core.batch.ocmf.trust_region import gradient_descent
from core.errors import ConfigError
from core.interactions import from_pairs
from tests.core import reference_ocmf as reference

CONFIG = OcmfConfig(loss="logistic", weight=0.2, target=-0.5, reg=0.5, factors=4, rounds=8)


@dataclass(frozen=True)
class HuberLoss:
    """A user-defined loss: (1 - b)^2, linear where b is further than 2 from 1; float64."""

    def value(self, score):
        off = np.abs(1.0 - score.astype(float))
        return np.where(off < 2.0, off**2, 4.0 * off - 4.0)

    def slope(self, score):
        return np.clip(2.0 * (score.astype(float) - 1.0), -4.0, 4.0)

    def curvature(self, score):
        return np.where(np.abs(1.0 - score) < 2.0, 2.0, 0.0)


def plain_huber(score):
    return HuberLoss().value(np.asarray(score, float))


OWN = {
    "squared-hinge": ("squared-hinge", reference.squared_hinge),
    "own": (HuberLoss(), plain_huber),
}


def world(m=16, n=10, seed=0):
    """Return pairs of users and items with tastes; user 0 has none."""
    rng = np.random.default_rng(seed)
    labelled = rng.normal(size=(m, 3)) @ rng.normal(size=(3, n)) > 1.0
    labelled[0] = False
    return from_pairs(*np.nonzero(labelled), n_users=m, n_items=n)


def known_of(name, m):
    """Return the side information of a fit as arguments."""
    rng = np.random.default_rng(2)
    links = rng.integers(0, m - 2, (2 * m, 2))
    return {
        "nothing": {},
        "features": {"features": rng.normal(size=(m, 5))},
        "graph": {"graph": links[links[:, 0] != links[:, 1]]},
    }[name]


def brute(config, plain, H, labelled, L=None):
    """Return f of the users' rows W (m, k), each pair visited."""
    m, n = labelled.shape
    L = np.zeros((m, m)) if L is None else L
    weights = np.ones(m), np.full(n, config.weight)
    about = (np.eye(m), L, labelled, *weights, config.target, plain, config.reg, config.graph)
    return lambda W: reference.objective(W, H, *about)


@pytest.mark.parametrize("known", ["nothing", "features", "graph"])
def test_gradient_descent_ends_where_newton_does(known):
    pairs = world()
    config, given = replace(CONFIG, graph=0.4, rounds=20), known_of(known, pairs.n_users)
    newton = Ocmf(config).fit(pairs, **given)
    descent = Ocmf(replace(config, solver="gradient")).fit(pairs, **given)
    assert descent.losses[0] == pytest.approx(newton.losses[0], rel=1e-3)
    assert descent.losses[-1] == pytest.approx(newton.losses[-1], rel=3e-3)
    assert all(
        b <= a * (1 + 1e-5) for a, b in zip(descent.losses, descent.losses[1:], strict=False)
    )


@pytest.mark.parametrize("known", ["nothing", "features", "graph"])
def test_gradient_descent_solves_both_sides(known):
    """The factors are those of the descent to the bit, and not those of Newton's method."""
    pairs = world()
    given = {"features": None, "graph": None} | known_of(known, pairs.n_users)
    config = replace(CONFIG, graph=0.4)
    newton = OcmfFit(config, pairs, **given)
    fit = OcmfFit(replace(config, solver="gradient"), pairs, **given)
    problem = fit._problem(fit.pairs, fit.loss, fit.side, fit._fixed_items)
    users = descended(problem, fit.parameters)
    fit.solve_users()
    newton.solve_users()
    assert np.array_equal(fit.parameters, users)
    assert not np.array_equal(newton.parameters, users)
    problem = fit._problem(*fit._of_items, fit.item_side, Partners(fit.users, fit.side.weight))
    items = descended(problem, fit.items)
    fit.solve_items()
    newton.solve_items()
    assert np.array_equal(fit.items, items)
    assert not np.array_equal(newton.items, items)


def descended(problem, start):
    """Return where gradient descent of a round's effort ends."""
    found = gradient_descent(problem, start, steps=DESCENT_STEPS, tolerance=ROUND[-1])
    return found.place.astype(np.float32)


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("known", ["nothing", "features", "graph"])
def test_a_built_in_loss_as_an_object_fits_like_its_name(loss, known):
    pairs = world()
    config, given = replace(CONFIG, loss=loss, graph=0.4), known_of(known, pairs.n_users)
    named = Ocmf(config).fit(pairs, **given)
    made = SquareLoss() if loss == "square" else LogisticLoss()
    own = Ocmf(replace(config, loss=made)).fit(pairs, **given)
    np.testing.assert_allclose(own.losses, named.losses, rtol=1e-3)


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("solver", ["newton", "gradient"])
def test_a_fit_minimises_a_user_defined_loss(name, solver):
    loss, plain = OWN[name]
    pairs, config = world(), replace(CONFIG, loss=loss, solver=solver)
    model = Ocmf(config).fit(pairs)
    H = model.item_factors.astype(float)
    f = brute(config, plain, H, reference.dense(pairs))
    W = model.trained_users.astype(float)
    assert model.losses[-1] == pytest.approx(f(W) + config.reg * (H**2).sum(), rel=1e-5)
    assert model.losses[-1] < model.losses[0]
    # the items are near the minimum of a general minimiser too
    g = brute(config, plain, W, reference.dense(pairs).T)
    least = optimize.minimize(lambda x: g(x.reshape(H.shape)), H.ravel(), method="L-BFGS-B")
    assert g(H) < 1.02 * least.fun


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("linked", [False, True])
def test_users_are_folded_in_by_a_user_defined_loss(name, linked):
    loss, plain = OWN[name]
    pairs, config = world(), replace(CONFIG, loss=loss, graph=0.6, rounds=40)
    given = known_of("graph", pairs.n_users) if linked else {}
    model = Ocmf(config).fit(pairs, **given)
    links = similarity(given["graph"], pairs.n_users) if linked else None
    folded = model.user_vectors(pairs, links=links)
    L = laplacian(links).toarray() if linked else None
    f = brute(config, plain, model.item_factors.astype(float), reference.dense(pairs), L)
    # at the minimum over all rows each row is at its own minimum, given its neighbours
    assert np.abs(reference.slope(f, folded.astype(float))).max() < 0.05
    np.testing.assert_allclose(folded, model.trained_users, atol=1e-2)
    ids, _ = model.recommend(5, pairs, 4)
    assert not set(ids.tolist()) & set(pairs.rows(np.array([5])).item_ix.tolist())


@pytest.mark.parametrize("name", OWN)
def test_a_user_defined_loss_is_not_exported_for_serving(name):
    model = Ocmf(replace(CONFIG, loss=OWN[name][0])).fit(world())
    for export in (lambda: model.objective, lambda: users_of(model)):
        with pytest.raises(ConfigError, match="square or logistic"):
            export()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"solver": "adam"}, "solver must be one of newton, gradient"),
        ({"loss": "cubic"}, "squared-hinge, or have value"),
        ({"loss": lambda score: score}, "slope and curvature"),
        ({"loss": "squared-hinge", "shrinkage": 1.0}, "shrinkage needs"),
        ({"loss": HuberLoss(), "negatives": "listed", "negative_loss": "logistic"}, "needs loss"),
    ],
)
def test_invalid_settings_are_refused(wrong, says):
    with pytest.raises(ConfigError, match=says):
        replace(CONFIG, **wrong)
