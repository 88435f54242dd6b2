"""The objective of one row: what it accepts, what it knows, and what adds to it."""

from dataclasses import replace

import numpy as np
import pytest

from core.batch.row_objective import FAMILIAR, RowObjective, diagonalised, learned
from core.errors import ConfigError, Diverged, ShapeError
from tests.core import ranking
from tests.core import reference_batch as reference

ITEMS, G, REG = 15, 4, 0.6
BELOW = -0.3


def objective(*, below=BELOW, loss="square", nu=0.0):
    rng = np.random.default_rng(2)
    negative = rng.uniform(0.05, 0.4, ITEMS).astype(np.float32)
    return diagonalised(
        rng.normal(size=(ITEMS, G)),
        negative,
        negative_target=below,
        reg=REG,
        nu=nu,
        mean_count=4.0,
        loss=loss,
    )


def dense_value(row, p, known, *, prior=0.0, mean=None, pull=None, more_reg=0.0):
    """The square loss of one row over all items, in float64, with everything that adds to it."""
    scores = row.item_factors.astype(np.float64) @ p
    weight, target = row.negative.astype(np.float64), np.full(ITEMS, row.negative_target)
    weight[known], target[known] = 1.0, 1.0
    value = (weight * (target - scores) ** 2).sum() + (REG + more_reg) * p @ p
    value += prior * ((p - mean) ** 2).sum() if mean is not None else 0.0
    return value - 2.0 * (pull @ p if pull is not None else 0.0)


def is_minimum(value, p):
    """Whether no step of a small length in any coordinate lowers the value."""
    least = value(p)
    steps = 1e-2 * np.vstack([np.eye(G), -np.eye(G)])
    return all(value(p + step) > least for step in steps)


KNOWN = np.array([1, 4, 9], np.int32)


def test_a_vector_is_the_minimum_over_all_items():
    row = objective()
    assert is_minimum(lambda p: dense_value(row, p, KNOWN), row.vector(KNOWN))


def test_a_pull_and_more_regularisation_add_to_the_objective():
    row, pull = objective(), np.array([3.0, -1.0, 0.5, 2.0], np.float32)
    p = row.vector(KNOWN, pull=pull, more_reg=1.5)
    assert is_minimum(lambda q: dense_value(row, q, KNOWN, pull=pull, more_reg=1.5), p)
    assert not is_minimum(lambda q: dense_value(row, q, KNOWN), p)


def test_the_prior_weakens_with_every_pair_and_ends_at_a_long_history():
    mean = np.array([2.0, 0.0, -1.0, 1.0], np.float32)
    row = replace(objective(), mean_row=mean, shrinkage=5.0)
    prior = 5.0 * (1.0 - KNOWN.size / FAMILIAR) ** 2
    p = row.vector(KNOWN)
    assert is_minimum(lambda q: dense_value(row, q, KNOWN, prior=prior, mean=mean), p)
    assert row.constant(0)[1] == 5.0
    for count in (FAMILIAR, FAMILIAR + 5):
        linear, shrinkage = row.constant(count)
        assert shrinkage == 0.0
        assert np.array_equal(linear, objective().constant(count)[0])


def test_a_user_may_have_a_mean_of_their_own():
    row = replace(objective(), mean_row=np.ones(G, np.float32), shrinkage=5.0)
    own = np.array([0.0, 3.0, 0.0, -3.0], np.float32)
    assert np.array_equal(row.vector(KNOWN, mean_row=own), replace(row, mean_row=own).vector(KNOWN))


def test_the_basis_of_the_items_does_not_matter():
    rng = np.random.default_rng(3)
    items, negative = rng.normal(size=(ITEMS, G)), np.full(ITEMS, 0.2, np.float32)
    turn = np.linalg.qr(rng.normal(size=(G, G)))[0]
    settings = {"negative_target": BELOW, "reg": REG, "nu": 0.0, "mean_count": 4.0}
    scores = []
    for basis in (items, items @ turn):
        row = diagonalised(basis, negative, **settings)
        gram = (row.item_factors * negative[:, None]).T @ row.item_factors
        assert np.allclose(gram, np.diag(row.gram), atol=1e-4)
        scores.append(row.item_factors @ row.vector(KNOWN))
    assert np.allclose(*scores, atol=1e-3)


@pytest.mark.parametrize("nu", [0.0, 0.5])
def test_rows_together_are_regularised_by_their_numbers_of_pairs(nu):
    pairs, row = ranking.tiny(users=20, items=ITEMS), objective(nu=nu)
    rows = zip(*reference.dense(pairs), row.regs(pairs.user_counts), strict=True)
    exact = [
        reference.exact_row(o, w, t, row.negative, BELOW, reg, row.item_factors)
        for o, w, t, reg in rows
    ]
    assert np.allclose(row.vectors(pairs), exact, rtol=1e-3, atol=1e-4)


def test_conjugate_gradients_end_at_the_same_rows_wherever_they_begin():
    pairs, row = ranking.tiny(users=20, items=ITEMS), objective()
    start = np.random.default_rng(0).normal(size=(20, G)).astype(np.float32)
    assert np.allclose(row.vectors(pairs, start), row.vectors(pairs), atol=1e-3)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_one_pair_that_weighs_more_raises_its_score(loss):
    row, one = objective(loss=loss), np.array([6], np.int32)
    light, heavy = (
        float(row.item_factors[6] @ row.vector(one, np.array([w], np.float32))) for w in (1.0, 9.0)
    )
    assert heavy > light > 0.0


def test_a_disliked_item_scores_less_than_the_same_item_liked():
    row, one = objective(), np.array([6], np.int32)
    liked, disliked = (
        float(row.item_factors[6] @ row.vector(one, None, np.array([r], np.float32)))
        for r in (1.0, -1.0)
    )
    assert disliked < 0.0 < liked


def test_rows_that_are_0_up_to_rounding_are_not_learned():
    rows = np.array([[1.0, 0.0], [1e-9, 0.0], [0.0, 0.0], [0.0, 1e-3]], np.float32)
    assert learned(rows).tolist() == [True, False, False, True]
    assert learned(np.zeros((2, 2), np.float32)).tolist() == [False, False]
    assert learned(np.empty((0, 2), np.float32)).tolist() == []


def test_a_history_is_known_by_any_learned_item_of_the_training():
    factors = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], np.float32)
    one = np.ones(2, np.float32)
    row = RowObjective(factors, one, one, np.ones(3, np.float32), 0.0, 1.0, 0.0, 1.0)
    known = {(): False, (0,): False, (1,): True, (0, 2): True, (0, 3): False, (3, 9): False}
    assert {items: row.knows(np.array(items, np.int32)) for items in known} == known


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"loss": "hinge"}, ConfigError, "square or logistic"),
        ({"mean_count": 0.0}, ConfigError, "mean_count must be"),
        ({"reg": np.inf}, ConfigError, "reg must be"),
        ({"shrinkage": np.nan}, ConfigError, "shrinkage must be"),
        ({"gram": np.ones(G + 1, np.float32)}, ShapeError, "gram has shape"),
        ({"item_sum": np.ones(1, np.float32)}, ShapeError, "item_sum has shape"),
        ({"negative": np.ones(ITEMS - 1, np.float32)}, ShapeError, "negative has shape"),
        ({"mean_row": np.ones(G - 1, np.float32)}, ShapeError, "mean_row has shape"),
    ],
)
def test_what_the_kernels_could_not_bear_is_refused(wrong, error, says):
    with pytest.raises(error, match=says):
        replace(objective(), **wrong)


def test_a_start_beyond_the_finite_numbers_is_an_error_with_advice():
    start = np.full((9, G), np.nan, np.float32)
    with pytest.raises(Diverged, match="more regularisation"):
        objective().vectors(ranking.tiny(items=ITEMS), start)
