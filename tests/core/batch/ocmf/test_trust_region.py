"""Both minimisers on a function whose minimum is known, and on the objective they are made for."""

import numpy as np
import pytest
from scipy import sparse

from core.batch.losses import LogisticLoss, SquareLoss
from core.batch.ocmf.side import FeatureMatrix, Pairs, Side
from core.batch.ocmf.subproblem import Partners, Subproblem
from core.batch.ocmf.trust_region import exact_step, gradient_descent, trust_region_newton
from core.interactions import from_pairs
from tests.core import reference_ocmf as reference


class Quartic:
    """sum x^4 + x A x / 2 - b x: convex, far from quadratic where x is large."""

    def __init__(self, size, seed=0):
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(size, size))
        self.A, self.b = root @ root.T / size, rng.normal(size=size)

    def at(self, place):
        return QuarticPoint(self, place)

    def precondition(self, residual):
        return residual


class Conditioned(Quartic):
    """The same with the inverse of its quadratic part as the preconditioner."""

    def precondition(self, residual):
        return np.linalg.solve(self.A + np.eye(len(self.A)), residual)


class QuarticPoint:
    def __init__(self, function, place):
        self.f, self.x = function, place
        self.value = float((place**4).sum() + 0.5 * place @ function.A @ place - function.b @ place)

    def gradient(self):
        return 4.0 * self.x**3 + self.f.A @ self.x - self.f.b

    def hessian_product(self, direction):
        return 12.0 * self.x**2 * direction + self.f.A @ direction

    def line(self, direction):
        return QuarticLine(self, direction)


class QuarticLine:
    def __init__(self, point, direction):
        self.point, self.direction = point, direction

    def _at(self, step):
        return QuarticPoint(self.point.f, self.point.x + step * self.direction)

    def value(self, step):
        return self._at(step).value

    def slopes(self, step):
        moved = self._at(step)
        return (
            moved.gradient() @ self.direction,
            self.direction @ moved.hessian_product(self.direction),
        )


@pytest.mark.parametrize("make", [Quartic, Conditioned])
@pytest.mark.parametrize("scale", [0.0, 1.0, 100.0])
def test_both_minimisers_find_the_minimum_from_near_and_far(scale, make):
    function = make(12)
    start = np.full(12, scale)
    newton = trust_region_newton(function, start, tolerance=1e-13)
    descent = gradient_descent(function, start, steps=2_000, tolerance=1e-13)
    for found in (newton, descent):
        assert np.abs(QuarticPoint(function, found.place).gradient()).max() < 1e-4
        assert found.value <= function.at(start).value
    np.testing.assert_allclose(newton.place, descent.place, atol=1e-4)
    assert newton.steps < descent.steps


def test_the_value_never_rises():
    function = Quartic(8)
    values = [trust_region_newton(function, np.full(8, 30.0), steps=s).value for s in range(12)]
    assert values == sorted(values, reverse=True)
    values = [gradient_descent(function, np.full(8, 30.0), steps=s).value for s in range(12)]
    assert values == sorted(values, reverse=True)


class Bounded(Quartic):
    """The same, but its value is ``beyond`` where a coordinate is below 2.5."""

    def __init__(self, size, beyond):
        super().__init__(size)
        self.beyond, self.visits = beyond, 0

    def at(self, place):
        self.visits += 1
        assert self.visits < 200, "the minimiser does not end"
        point = super().at(place)
        point.value = point.value if place.min() >= 2.5 else self.beyond
        return point


@pytest.mark.parametrize("beyond", [np.inf, np.nan])
def test_a_step_beyond_the_finite_numbers_is_refused_and_a_shorter_one_taken(beyond):
    """The first full step would lead to 2."""
    function = Bounded(8, beyond)
    found = trust_region_newton(function, np.full(8, 3.0), tolerance=1e-12)
    assert found.steps > 0
    assert 2.5 <= found.place.min() < 2.7
    assert found.value == QuarticPoint(function, found.place).value


def test_the_exact_step_ends_where_the_slope_is_zero():
    point = Quartic(6).at(np.full(6, 5.0))
    line = point.line(-point.gradient())
    step = exact_step(line)
    assert abs(line.slopes(step)[0]) <= 1e-6 * abs(line.slopes(0.0)[0])
    assert exact_step(point.line(point.gradient())) == 0.0


def test_a_start_at_the_minimum_stays_there():
    function = Quartic(4)
    found = trust_region_newton(function, np.zeros(4), tolerance=1e-12)
    again = trust_region_newton(function, found.place, tolerance=1e-2, steps=5)
    assert again.value == pytest.approx(found.value, rel=1e-12)


def one_side(loss, target, seed=0, m=12, n=9, k=4):
    rng = np.random.default_rng(seed)
    labelled = rng.random((m, n)) < 0.3
    p, q = rng.uniform(0.1, 0.9, m), rng.uniform(0.1, 0.9, n)
    H = rng.normal(size=(n, k))
    problem = Subproblem(
        Pairs(from_pairs(*np.nonzero(labelled), n_users=m, n_items=n)),
        loss,
        Side(p, np.full(m, 0.3)),
        Partners(H, q),
        target=target,
    )
    return problem, (H, labelled, p, q, target)


class Unconditioned(Subproblem):
    def precondition(self, residual):
        return residual


def far_apart(known, p):
    """Return a side with very different curvatures, mostly from regularisation and graph."""
    m, rng = p.size, np.random.default_rng(0)
    if known == "rows":
        return Side(p, np.geomspace(1e-2, 1e4, m))
    if known == "features":
        X = rng.normal(size=(m, 6)) * np.geomspace(0.1, 100.0, 6)
        return Side(p, np.full(6, 500.0), FeatureMatrix(X, p))
    size = np.geomspace(1e-2, 30.0, m)
    S = np.outer(size, size) * (1.0 - np.eye(m))
    return Side(p, np.full(m, 0.1), None, sparse.csr_array(np.diag(S.sum(1)) - S), 1.0)


@pytest.mark.parametrize("known", ["rows", "features", "graph"])
@pytest.mark.parametrize("loss", [SquareLoss(), LogisticLoss()])
def test_the_preconditioner_saves_most_products(loss, known):
    rng = np.random.default_rng(0)
    m, n, k = 40, 30, 4
    pairs = from_pairs(*np.nonzero(rng.random((m, n)) < 0.2), n_users=m, n_items=n)
    p, q, H = rng.uniform(0.1, 0.9, m), rng.uniform(0.1, 0.9, n), rng.normal(size=(n, k))
    side, found = far_apart(known, p), []
    for make in (Subproblem, Unconditioned):
        problem = make(Pairs(pairs), loss, side, Partners(H, q), target=0.0)
        start = np.zeros((side.n_parameters, k))
        found.append(trust_region_newton(problem, start, tolerance=1e-6, cg_steps=500))
    assert found[0].value == pytest.approx(found[1].value, rel=1e-6)
    assert 3 * found[0].products < found[1].products


@pytest.mark.parametrize("target", [0.0, -1.0])
def test_the_squared_loss_ends_at_the_rows_that_als_solves(target):
    problem, (H, labelled, p, q, target) = one_side(SquareLoss(), target)
    found = trust_region_newton(problem, np.zeros((12, 4)), tolerance=1e-9)
    rows = [reference.als_row(i, H, labelled, p, q, target, 0.3) for i in range(12)]
    np.testing.assert_allclose(found.place, rows, atol=1e-6)


def test_the_logistic_loss_ends_alike_with_both_minimisers():
    problem, _ = one_side(LogisticLoss(), -1.0)
    newton = trust_region_newton(problem, np.zeros((12, 4)), tolerance=1e-8)
    descent = gradient_descent(problem, np.zeros((12, 4)), steps=5_000, tolerance=1e-6)
    np.testing.assert_allclose(newton.place, descent.place, atol=1e-5)
    assert newton.gradient_norm < 1e-5
