"""The dot-product models: gradients against finite differences of the loss over all pairs."""

from dataclasses import replace

import numba
import numpy as np
import pytest
from scipy import sparse

from core.batch.contexts.config import KINDS, ContextConfig, DescentConfig
from core.batch.contexts.descent import _regs, _Side, descend
from core.batch.contexts.dot_models import (
    CpTensor,
    MatrixFactorisation,
    PairwiseTensor,
    SvdFeature,
    checked_features,
)
from core.batch.contexts.ranker import ContextRanker
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.weighting import constant_loss
from core.errors import ConfigError, DataError, Diverged, ShapeError
from core.interactions import from_pairs
from tests.core import ranking
from tests.core import reference_batch as reference

BELOW = -0.5
NAMES = ["mf", "svdfeature", "pitf", "cp"]


def features(rows, columns, rng):
    """Return sparse features, one row of them empty."""
    dense = (rng.random((rows, columns)) < 0.4) * rng.uniform(0.1, 1.0, (rows, columns))
    dense[0] = 0.0
    return sparse.csr_array(dense.astype(np.float32))


def build(name, n_contexts=9, n_targets=7):
    """Return a model and contexts for it."""
    rng = np.random.default_rng(3)
    if name == "mf":
        return MatrixFactorisation(n_contexts, n_targets, 3), np.arange(n_contexts)
    if name == "svdfeature":
        model = SvdFeature(6, features(n_targets, 8, rng), 3)
        return model, features(n_contexts, 6, rng)
    contexts = np.column_stack([rng.integers(0, 6, n_contexts), rng.integers(0, 4, n_contexts)])
    return (PairwiseTensor if name == "pitf" else CpTensor)(6, 4, n_targets, 3), contexts


def finite_differences(function, theta, step):
    slope = np.zeros(theta.shape)
    for at in np.ndindex(*theta.shape):
        kept = theta[at]
        theta[at] = kept + step
        above = function()
        theta[at] = kept - step
        slope[at] = (above - function()) / (2 * step)
        theta[at] = kept
    return slope


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_is_that_of_the_loss_over_all_pairs(name):
    model, contexts = build(name)
    pairs = ranking.tiny(weighted=True)
    negative = np.linspace(0.05, 0.4, 7).astype(np.float32)
    config = DescentConfig(negative_target=BELOW)
    parameters = model.start(np.random.default_rng(0), 0.7)

    def loss():
        p, q = model.left(parameters, contexts), model.right(parameters)
        return reference.loss(*reference.dense(pairs), negative, BELOW, p, q)

    p, q = model.left(parameters, contexts), model.right(parameters)
    by_left, left_loss = _Side(pairs, negative, config, of_items=False).gradient(p, q)
    by_right, right_loss = _Side(pairs.by_item(), negative, config, of_items=True).gradient(q, p)
    constant = constant_loss(pairs, negative, BELOW)
    assert left_loss + constant == pytest.approx(loss(), rel=1e-4)
    assert right_loss + constant == pytest.approx(loss(), rel=1e-4)
    gradient = model.left_gradient(parameters, contexts, by_left)
    gradient |= model.right_gradient(parameters, by_right)
    assert gradient.keys() == parameters.keys()
    # the score is linear in each parameter alone, hence the difference is exact for any step
    for key, slope in gradient.items():
        expected = finite_differences(loss, parameters[key], 0.25)
        assert np.allclose(slope, expected, rtol=1e-3, atol=1e-3), key


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("optimiser", ["plain", "adagrad"])
def test_the_loss_falls_all_the_way_with_a_small_step(name, optimiser):
    model, contexts = build(name)
    rate = 2e-3 if optimiser == "plain" else 1e-2
    config = DescentConfig(
        optimiser=optimiser, learning_rate=rate, epochs=60, alpha0=3.0, reg=0.01, start=1.0
    )
    losses = descend(model, contexts, ranking.tiny(), config).losses
    assert (np.diff(losses) < 0.0).all()


def test_adagrad_reaches_what_conjugate_gradients_reach():
    pairs = ranking.tribes()
    exact = Fbgd(
        FbgdConfig(factors=4, alpha0=60.0, reg=0.5, nu_user=0.0, nu_item=0.0, epochs=60)
    ).fit(pairs)
    model = MatrixFactorisation(pairs.n_users, pairs.n_items, 4)
    config = DescentConfig(epochs=600, alpha0=60.0, reg=0.5)
    found = descend(model, np.arange(pairs.n_users), pairs, config)
    assert found.losses[-1] == pytest.approx(exact.losses[-1], rel=0.02)


def test_the_previous_item_helps_where_it_decides():
    rng = np.random.default_rng(0)
    n_items, n_users = 20, 30
    previous = rng.integers(0, n_items, 400)
    users, following = rng.integers(0, n_users, 400), (previous + 7) % n_items
    contexts, row = np.unique(np.column_stack([users, previous]), axis=0, return_inverse=True)
    pairs = from_pairs(row, following, n_users=len(contexts), n_items=n_items)
    config = DescentConfig(epochs=150, alpha0=4.0, reg=0.01)
    model = PairwiseTensor(n_users, n_items, n_items, 16)
    found = descend(model, contexts, pairs, config)
    asked = np.array([[0, 3], [5, 18]])
    scores = model.left(found.parameters, asked) @ model.right(found.parameters).T
    assert scores.argmax(1).tolist() == [10, 5]


@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_repetition_change_no_bit(kind):
    pairs = ranking.tribes()
    config = ContextConfig(kind, 8, DescentConfig(epochs=4, rho=0.3, nu=0.5, negative_target=BELOW))
    bits, most = set(), numba.get_num_threads()
    for threads in (most, 1, most):
        numba.set_num_threads(threads)
        model = ContextRanker(config).fit(pairs)
        bits.add(model.item_factors.tobytes() + model.user_vectors(pairs).tobytes())
    assert len(bits) == 1


def test_a_descent_can_be_continued_and_stopped():
    model, contexts = build("cp")
    pairs, config = ranking.tiny(), DescentConfig(epochs=5, alpha0=3.0)
    first = descend(model, contexts, pairs, config, on_epoch=lambda parameters, epoch: epoch == 2)
    assert len(first.losses) == 4
    again = descend(model, contexts, pairs, config, previous=first)
    assert again.losses[0] < first.losses[-1]


def first_rows(name, contexts, targets):
    """Return a model of the first 7 targets and the first 9 contexts."""
    if name == "svdfeature":
        return SvdFeature(6, targets[:7], 3), contexts[:9]
    if name == "mf":
        return MatrixFactorisation(9, 7, 3), contexts[:9]
    return (PairwiseTensor if name == "pitf" else CpTensor)(6, 4, 7, 3), contexts[:9]


@pytest.mark.parametrize("name", NAMES)
def test_a_descent_goes_on_with_new_rows(name):
    model, contexts = build(name, n_contexts=12, n_targets=9)
    small, known = first_rows(name, contexts, getattr(model, "target_features", None))
    pairs = ranking.tiny(users=12, items=9, density=0.5)
    old = pairs.keep((pairs.user_ix < 9) & (pairs.item_ix < 7))
    old = from_pairs(old.user_ix, old.item_ix, n_users=9, n_items=7)
    config = DescentConfig(epochs=200, alpha0=3.0, reg=0.01)
    before = descend(small, known, old, config)
    few = replace(config, epochs=5)
    warm = descend(model, contexts, pairs, few, previous=before)
    assert warm.losses[-1] < descend(model, contexts, pairs, few).losses[-1]


def test_a_descent_of_another_kind_or_size_is_not_continued():
    model, contexts = build("mf")
    before = descend(model, contexts, ranking.tiny(), DescentConfig(epochs=1))
    other, its = build("cp")
    with pytest.raises(ShapeError, match="another kind"):
        descend(other, its, ranking.tiny(), DescentConfig(), previous=before)
    wider = MatrixFactorisation(9, 7, 4)
    with pytest.raises(ShapeError, match="keep factors"):
        descend(wider, contexts, ranking.tiny(), DescentConfig(), previous=before)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_with_many_pairs_is_regularised_more(name):
    model, contexts = build(name)
    pairs = ranking.tiny()
    parameters = model.start(np.random.default_rng(0), 0.7)
    counts = model.counts(contexts, pairs)
    assert {key: one.shape for key, one in counts.items()} == {
        key: values.shape[:1] for key, values in parameters.items()
    }
    regs = _regs(counts, parameters, DescentConfig(reg=2.0, nu=0.5))
    for key, count in counts.items():
        mean = count[count > 0].mean()
        assert np.allclose(regs[key].ravel(), 2.0 * np.sqrt(np.maximum(count, 1) / mean))


def test_a_plain_step_that_is_too_long_is_an_error_that_says_so():
    model, contexts = build("mf")
    config = DescentConfig(optimiser="plain", learning_rate=5.0, epochs=200, start=3.0)
    with pytest.raises(Diverged, match="lower learning_rate"):
        descend(model, contexts, ranking.tiny(), config)


def test_bad_input_is_refused_or_has_a_result():
    model, contexts = build("svdfeature")
    with pytest.raises(DataError, match="no pairs"):
        descend(
            model,
            contexts,
            ranking.tiny().keep(np.zeros(len(ranking.tiny()), bool)),
            DescentConfig(),
        )
    with pytest.raises(ShapeError, match="7 targets"):
        descend(model, contexts, ranking.tiny(items=8), DescentConfig())
    with pytest.raises(ShapeError, match="5 features, but the model has 6"):
        descend(model, sparse.csr_array((9, 5), dtype=np.float32), ranking.tiny(), DescentConfig())
    with pytest.raises(DataError, match="NaN"):
        checked_features(sparse.csr_array(np.array([[np.nan]])))
    with pytest.raises(ShapeError, match=r"scipy\.sparse"):
        checked_features(np.eye(2))
    for bad in (
        {"learning_rate": 0.0},
        {"reg": -1.0},
        {"nu": 2.0},
        {"optimiser": "adam"},
        {"epochs": 0},
        {"epochs": 2.5},
        {"rho": -1.0},
        {"rho": 50.0},
        {"rho": np.nan},
        {"negative_target": np.nan},
        {"negative_target": np.inf},
    ):
        (name,) = bad
        with pytest.raises(ConfigError, match=f"{name} must be"):
            DescentConfig(**bad)
    nothing = sparse.csr_array((9, 6), dtype=np.float32)
    found = descend(model, nothing, ranking.tiny(), DescentConfig(epochs=2))
    assert all(np.isfinite(values).all() for values in found.parameters.values())
