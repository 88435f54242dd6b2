"""The objective of one side against brute force over all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from core.batch.losses import LogisticLoss, MixedLoss, SquaredHingeLoss, SquareLoss
from core.batch.ocmf.side import FeatureMatrix, Pairs, Side
from core.batch.ocmf.subproblem import Partners, Subproblem
from core.interactions import from_pairs
from core.kernels import ocmf as kernels
from tests.core import reference_ocmf as reference

REG, GRAPH = 0.3, 0.7
LOSSES = {
    "SQ-SQ": (SquareLoss(), reference.square, False),
    "SQ-wSQ": (SquareLoss(), reference.square, True),
    "LR-wSQ": (LogisticLoss(), reference.logistic, True),
    "hinge-wSQ": (SquaredHingeLoss(), reference.squared_hinge, True),
}
KNOWN = [(False, False), (True, False), (False, True), (True, True)]


class Case:
    """A small problem, as arrays over all pairs and as a Subproblem."""

    def __init__(self, name, features, graph, *, seed=0, dense=False, m=9, n=7, d=5, k=3):
        rng = np.random.default_rng(seed)
        loss, plain, weighted = LOSSES[name]
        labelled = rng.random((m, n)) < 0.3
        labelled[0] = False
        X = (rng.random((m, d)) < 0.6) * rng.normal(size=(m, d)) if features else np.eye(m)
        X[1] *= not features
        S = np.triu(rng.random((m, m)) < 0.3, 1).astype(float)
        S += S.T
        L = np.diag(S.sum(1)) - S if graph else np.zeros((m, m))
        p = rng.uniform(0.1, 0.9, m) if weighted else np.ones(m)
        q = rng.uniform(0.1, 0.9, n) if weighted else np.ones(n)
        target = -1.0 if weighted else 0.0
        H = rng.normal(size=(n, k))
        self.place = rng.normal(size=(X.shape[1], k))
        self.direction = rng.normal(size=self.place.shape)
        given_X = X if dense else sparse.csr_array(X)
        side = Side(
            p,
            np.full(X.shape[1], REG),
            FeatureMatrix(given_X, p) if features else None,
            sparse.csr_array(L) if graph else None,
            REG * GRAPH,
        )
        self.problem = Subproblem(
            Pairs(from_pairs(*np.nonzero(labelled), n_users=m, n_items=n)),
            loss,
            side,
            Partners(H, q),
            target=target,
        )
        self.brute = lambda W: reference.objective(
            W, H, X, L, labelled, p, q, target, plain, REG, GRAPH
        )


@pytest.mark.parametrize(("features", "graph"), KNOWN)
@pytest.mark.parametrize("name", LOSSES)
def test_value_gradient_and_hessian_agree_with_all_pairs(name, features, graph):
    case = Case(name, features, graph)
    point = case.problem.at(case.place)
    assert point.value == pytest.approx(case.brute(case.place), rel=1e-12)
    gradient = reference.slope(case.brute, case.place)
    np.testing.assert_allclose(point.gradient(), gradient, atol=1e-6)
    h = 1e-5
    ahead = case.problem.at(case.place + h * case.direction).gradient()
    behind = case.problem.at(case.place - h * case.direction).gradient()
    product = point.hessian_product(case.direction)
    np.testing.assert_allclose(product, (ahead - behind) / (2.0 * h), atol=1e-5)


@pytest.mark.parametrize(("features", "graph"), KNOWN)
@pytest.mark.parametrize("name", LOSSES)
def test_the_function_along_a_line_needs_no_new_scores(name, features, graph):
    case = Case(name, features, graph)
    line = case.problem.at(case.place).line(case.direction)
    for step in (0.0, 0.5, -1.3):
        wanted = case.brute(case.place + step * case.direction)
        assert line.value(step) == pytest.approx(wanted, rel=1e-10)
        h = 1e-4
        first = (line.value(step + h) - line.value(step - h)) / (2.0 * h)
        second = (line.slopes(step + h)[0] - line.slopes(step - h)[0]) / (2.0 * h)
        assert line.slopes(step) == pytest.approx((first, second), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("dense", [False, True])
def test_a_small_feature_gram_changes_nothing(dense):
    """Many rows with few features are summed without visiting the rows."""
    case = Case("LR-wSQ", True, True, dense=dense, m=60, d=4)
    assert case.problem.side.features.gram is not None
    point = case.problem.at(case.place)
    assert point.value == pytest.approx(case.brute(case.place), rel=1e-12)
    gradient = reference.slope(case.brute, case.place)
    np.testing.assert_allclose(point.gradient(), gradient, rtol=1e-6, atol=1e-5)


def test_listed_negatives_need_no_unlabelled_pairs():
    """LR-wLR on all pairs: every pair is listed, unlisted pairs have no weight."""
    rng = np.random.default_rng(3)
    m, n, k = 6, 5, 2
    labelled = rng.random((m, n)) < 0.4
    W, H = rng.normal(size=(m, k)), rng.normal(size=(n, k))
    every = from_pairs(*np.divmod(np.arange(m * n), n))
    weight = np.where(labelled, 1.0, 0.2).ravel()
    loss = MixedLoss(labelled.ravel(), LogisticLoss(), LogisticLoss(sign=-1.0), weight)
    problem = Subproblem(
        Pairs(every),
        loss,
        Side(np.zeros(m), np.full(m, REG)),
        Partners(H, np.ones(n)),
        target=0.0,
    )

    def brute(W):
        score = W @ H.T
        pairs = np.where(labelled, reference.logistic(score), 0.2 * reference.logistic(-score))
        return pairs.sum() + REG * (W**2).sum()

    point = problem.at(W)
    assert point.value == pytest.approx(brute(W), rel=1e-12)
    np.testing.assert_allclose(point.gradient(), reference.slope(brute, W), atol=1e-6)


@settings(max_examples=30)
@given(
    counts=st.lists(st.integers(0, 5), min_size=1, max_size=6),
    k=st.integers(1, 9),
    seed=st.integers(0, 99),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_kernels_agree_with_their_twins(counts, k, seed, dtype):
    rng = np.random.default_rng(seed)
    n, start = 5, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    partner = rng.integers(0, n, start[-1]).astype(np.int32)
    rows = rng.normal(size=(len(counts), k)).astype(dtype)
    partners = rng.normal(size=(n, k)).astype(dtype)
    weight = rng.normal(size=start[-1]).astype(dtype)
    bounds = np.array([0, len(counts) // 2, len(counts)], dtype=np.int64)
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-10, "atol": 1e-10}
    score, summed, curved = np.empty_like(weight), np.empty_like(rows), np.empty_like(rows)
    kernels.pair_scores(bounds, start, partner, rows, partners, score)
    kernels.weighted_sums(bounds, start, partner, weight, partners, summed)
    kernels.curved_sums(bounds, start, partner, weight, rows, partners, curved)
    wanted = reference.pair_scores(start, partner, rows, partners).reshape(-1)
    np.testing.assert_allclose(score, wanted, **close)
    wanted = reference.weighted_sums(start, partner, weight, partners)
    np.testing.assert_allclose(summed, wanted, **close)
    wanted = reference.curved_sums(start, partner, weight, rows, partners)
    np.testing.assert_allclose(curved, wanted, **close)


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("seed", range(3))
def test_rows_solved_one_by_one_end_at_their_minimum(loss, seed):
    rng = np.random.default_rng(seed)
    m, n, k, target = 9, 7, 4, -0.5 * seed
    listed = rng.random((m, n)) < 0.4
    listed[0] = False
    labelled = listed & (rng.random((m, n)) < 0.8)
    weight = np.where(listed, rng.uniform(0.9, 2.0, (m, n)), 0.0)
    p, q = rng.uniform(0.1, 0.8, m), rng.uniform(0.1, 0.8, n)
    reg = rng.uniform(0.1, 1.0, m)
    H = rng.normal(size=(n, k))
    gram, basis = np.linalg.eigh(H.T @ (q[:, None] * H))
    H = H @ basis
    pairs = from_pairs(*np.nonzero(listed), n_users=m, n_items=n)
    rows = np.zeros((m, k))
    kernels.newton_rows(
        np.array([0, 4, m]),
        pairs.ptr,
        pairs.item_ix,
        labelled[listed].astype(np.uint8),
        weight[listed],
        q,
        p,
        kernels.LOGISTIC if loss == "logistic" else kernels.SQUARE,
        target,
        target,
        gram,
        2.0 * target * p[:, None] * (H.T @ q),
        reg,
        H,
        rows,
        50,
        50,
        1e-9,
    )
    plain = getattr(reference, loss)
    wanted = reference.newton_rows(
        H, labelled, listed, weight, p, q, target, plain, reg, np.zeros((m, k))
    )
    np.testing.assert_allclose(rows, wanted, atol=1e-6)
