"""A user's vector minimises exactly the row objective that the model was trained with."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd, _Sides
from core.batch.row_objective import diagonalised
from core.batch.weighting import scaled_reg
from core.kernels import fold_in
from tests.core import ranking
from tests.core import reference_batch as reference


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 12),
    g=st.integers(1, 9),
    logistic=st.booleans(),
    below=st.sampled_from([0.0, -0.5]),
)
def test_the_vector_solves_the_dense_system(seed, n, g, logistic, below):
    rng = np.random.default_rng(seed)
    items, negative = rng.normal(size=(15, g)), rng.uniform(0.01, 0.4, 15).astype(np.float32)
    model = diagonalised(items, negative, negative_target=below, reg=0.5, nu=0.0, mean_count=1.0)
    item_ix = np.sort(rng.permutation(15)[:n]).astype(np.int32)
    weight = rng.uniform(0.5, 3.0, n).astype(np.float32)
    target = rng.choice([0.0, 1.0, 1.5], n).astype(np.float32)
    found = []
    for compute in (fold_in.fold_in, reference.fold_in):
        out = np.empty(g, np.float32)
        compute(
            model.item_factors,
            model.gram,
            model.item_sum * np.float32(below),
            negative,
            below,
            0.5,
            item_ix,
            weight,
            target,
            logistic,
            200,
            1e-6,
            out,
        )
        found.append(out)
    assert np.allclose(found[0], found[1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_user_or_all_at_once_minimise_the_loss_over_all_items(weighted):
    pairs = ranking.tiny(users=20, items=15, weighted=weighted)
    config = FbgdConfig(factors=6, alpha0=3.0, rho=0.4, reg=0.8, negative_target=-0.3, epochs=3)
    model = Fbgd(config).fit(pairs)
    objective = model.fitted
    reg = scaled_reg(pairs.user_counts, 0.8, 0.5, objective.mean_count)
    rows = zip(*reference.dense(pairs), reg, strict=True)
    exact = [
        reference.exact_row(o, w, t, objective.negative, -0.3, r, model.item_factors)
        for o, w, t, r in rows
    ]
    together = model.user_vectors(pairs)
    assert np.allclose(together, exact, rtol=1e-3, atol=1e-4)
    for u in range(pairs.n_users):
        row = pairs.rows(np.array([u]))
        alone = objective.vector(row.item_ix, row.weight, row.target)
        assert np.allclose(alone, exact[u], rtol=1e-3, atol=1e-4)


def test_fold_in_of_the_training_pairs_gives_the_trained_rows_of_a_converged_model():
    pairs = ranking.tribes(users=60, items=40)
    config = FbgdConfig(factors=4, alpha0=60.0, reg=1.0, epochs=200, steps=6)
    sides = _Sides(config, pairs, None)
    for _ in range(config.epochs):
        sides.epoch()
    folded = sides.exported().vectors(pairs)
    assert np.allclose(folded, sides.users @ sides.turn, atol=2e-3 * np.abs(folded).max())


def test_a_user_without_pairs_has_a_vector_too():
    model = Fbgd(FbgdConfig(factors=4, epochs=2)).fit(ranking.tiny())
    assert np.array_equal(model.fitted.vector(np.empty(0, np.int32)), np.zeros(4, np.float32))


def test_logistic_users_together_are_the_users_alone():
    rng = np.random.default_rng(0)
    pairs = ranking.tiny(users=5, items=8)
    objective = diagonalised(
        rng.normal(size=(8, 3)),
        np.full(8, 0.1, np.float32),
        negative_target=-1.0,
        reg=0.5,
        nu=0.0,
        mean_count=1.0,
        loss="logistic",
    )
    alone = [objective.vector(pairs.rows(np.array([u])).item_ix) for u in range(5)]
    assert np.array_equal(objective.vectors(pairs), np.array(alone))
