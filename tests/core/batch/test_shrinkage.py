"""Vectors of short histories are shrunk to the mean user, as strongly as held-out users want it."""

from dataclasses import replace

import numpy as np
import pytest

from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.model import Ocmf, users_of
from core.batch.ocmf.users import StructuredUsers
from core.batch.row_objective import FAMILIAR, diagonalised
from core.batch.shrinkage import STRENGTHS, choose_shrinkage, shrunk, without_shrinkage
from core.batch.snapshot import objective_of, of_objective, of_users
from core.batch.snapshot import users_of as users_in
from core.errors import ConfigError
from core.interactions import from_pairs
from core.search.search import Budget
from tests.core import ranking

NOBODY = np.empty(0, np.int32)


def taste(*, shared, users=400, items=60, seed=0):
    """Return users of four tribes who take their tribe's items; if ``shared``, mostly the first."""
    rng = np.random.default_rng(seed)
    tribe = rng.integers(0, 4, users)
    own = tribe[:, None] == np.arange(items)[None, :] % 4
    liking = np.broadcast_to(0.8 * 0.93 ** np.arange(items), own.shape) if shared else 0.8 * own
    u, i = np.nonzero(rng.random(own.shape) < liking)
    return from_pairs(u, i, n_users=users, n_items=items)


def objective(loss="square", *, shrinkage=3.0, seed=0):
    rng = np.random.default_rng(seed)
    negative = rng.uniform(0.01, 0.4, 30).astype(np.float32)
    row = diagonalised(
        rng.normal(size=(30, 5)),
        negative,
        negative_target=-0.4,
        reg=0.5,
        nu=0.5,
        mean_count=4.0,
        loss=loss,
    )
    return replace(row, mean_row=rng.normal(size=5).astype(np.float32), shrinkage=shrinkage)


@pytest.mark.parametrize("n", [0, 1, 7, FAMILIAR - 1, FAMILIAR, 25])
def test_the_vector_solves_the_dense_system(n):
    row = objective()
    item_ix = np.arange(n, dtype=np.int32)
    q, a = row.item_factors.astype(np.float64), row.negative.astype(np.float64)
    d = row.shrinkage * max(1.0 - n / FAMILIAR, 0.0) ** 2
    reg = float(row.regs(np.array([n]))[0])
    left = np.diag(row.gram + reg + d) + q[:n].T @ (q[:n] * (1.0 - a[:n])[:, None])
    right = q[:n].T @ (1.0 + 0.4 * a[:n]) - 0.4 * row.item_sum + d * row.mean_row
    assert np.allclose(row.vector(item_ix), np.linalg.solve(left, right), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_shrinkage_does_not_change_a_bit_of_users_with_long_histories(loss):
    row = objective(loss)
    plain = replace(row, mean_row=None, shrinkage=0.0)
    long, short = (np.arange(n, dtype=np.int32) for n in (FAMILIAR, FAMILIAR - 1))
    assert row.vector(long).tobytes() == plain.vector(long).tobytes()
    assert row.vector(short).tobytes() != plain.vector(short).tobytes()


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_users_together_are_the_users_alone(loss):
    row = objective(loss)
    ends = np.cumsum([0, 1, 25, 3, FAMILIAR])
    user_ix = np.repeat(np.arange(5), np.diff(ends, prepend=0))
    item_ix = np.concatenate([np.arange(n) for n in np.diff(ends, prepend=0)])
    pairs = from_pairs(user_ix, item_ix, n_users=5, n_items=30)
    alone = [row.vector(pairs.rows(np.array([u])).item_ix) for u in range(5)]
    assert np.allclose(row.vectors(pairs), alone, rtol=1e-3, atol=1e-4)


def test_the_mean_user_is_the_mean_of_those_who_have_pairs():
    pairs = ranking.tribes()
    row = Fbgd(FbgdConfig(factors=4, epochs=3)).fit(pairs).fitted
    found = shrunk(row, pairs, 2.0)
    known = pairs.rows(np.flatnonzero(pairs.user_counts))
    assert np.allclose(found.mean_row, row.vectors(known).mean(axis=0), atol=1e-5)
    assert found.shrinkage == pytest.approx(2.0 * row.gram.mean())
    assert shrunk(row, pairs, 0.0) is row


@pytest.mark.parametrize(
    "fit",
    [
        lambda pairs, shrinkage: (
            Fbgd(FbgdConfig(factors=4, epochs=3, shrinkage=shrinkage)).fit(pairs).fitted
        ),
        lambda pairs, shrinkage: (
            Ocmf(OcmfConfig(factors=4, shrinkage=shrinkage)).fit(pairs).objective
        ),
        lambda pairs, shrinkage: (
            users_of(Ocmf(OcmfConfig(factors=4, shrinkage=shrinkage)).fit(pairs)).row
        ),
    ],
)
def test_a_fit_shrinks_as_its_settings_say(fit):
    pairs = ranking.tribes()
    one = np.array([7], np.int32)
    plain, some = fit(pairs, 0.0), fit(pairs, 5.0)
    assert plain.mean_row is None
    near = [np.linalg.norm(row.vector(one) - some.mean_row) for row in (some, plain)]
    assert near[0] < near[1]


@pytest.mark.parametrize("config", [FbgdConfig, OcmfConfig])
@pytest.mark.parametrize("shrinkage", [-1.0, np.inf, np.nan])
def test_a_shrinkage_is_a_number_from_0(config, shrinkage):
    with pytest.raises(ConfigError, match="shrinkage must be 0 or more and at most"):
        config(shrinkage=shrinkage)


@pytest.mark.parametrize("shared", [False, True])
def test_held_out_users_choose_shrinkage_for_shared_tastes_and_none_for_tribes(shared):
    pairs = taste(shared=shared)
    config = FbgdConfig(factors=8, alpha0=60.0, reg=1.0, epochs=4)
    shrinkage = choose_shrinkage(pairs, lambda part: Fbgd(config).fit(part).fitted)
    assert shrinkage in STRENGTHS
    assert shrinkage >= 4.0 if shared else shrinkage <= 2.0


@pytest.mark.parametrize("weight", [0.2, 10.0])
def test_the_unit_of_weights_does_not_change_the_shrinkage(weight):
    pairs = taste(shared=True)

    def chosen(c, pairs):
        config = FbgdConfig(factors=8, alpha0=c * 60.0, reg=c, epochs=4)
        return choose_shrinkage(pairs, lambda part: Fbgd(config).fit(part).fitted)

    assert chosen(weight, ranking.weighing(pairs, weight)) == chosen(1.0, pairs) >= 4.0


def test_too_few_held_out_users_leave_the_shrinkage():
    pairs = ranking.tiny()
    fit = lambda part: Fbgd(FbgdConfig(factors=2)).fit(part).fitted
    assert choose_shrinkage(pairs, fit) == 0.0
    assert choose_shrinkage(pairs, fit, otherwise=3.5) == 3.5


def test_held_out_users_are_not_in_the_fit():
    pairs, fitted = taste(shared=True), []

    def fit(part):
        fitted.append(part)
        return Fbgd(FbgdConfig(factors=4, epochs=2)).fit(part).fitted

    choose_shrinkage(pairs, fit)
    [part] = fitted
    assert np.count_nonzero(part.user_counts == 0) == pytest.approx(40, abs=1)


def test_a_search_leaves_time_for_the_shrinkage_unless_it_is_stated():
    budget = Budget(lambda: 0.0, 20.0)
    assert without_shrinkage(budget, {"factors"}).seconds == pytest.approx(18.0)
    assert without_shrinkage(budget, {"factors", "shrinkage"}) is budget


def test_a_snapshot_keeps_the_mean_user_and_older_ones_are_read_without():
    row = objective()
    rest = {"settings": {}, "metrics": {}, "cuts": {}}
    one = np.array([4], np.int32)
    for made in (of_objective("fbgd", row, **rest), of_users("ocmf", StructuredUsers(row), **rest)):
        assert objective_of(made).vector(one).tobytes() == row.vector(one).tobytes()
    plain = replace(row, mean_row=None, shrinkage=0.0)
    before = of_objective("fbgd", plain, **rest)
    del before.parameters["row"]["draw"]
    assert "typical" not in before.arrays
    assert users_in(before).vector(one).tobytes() == plain.vector(one).tobytes()


def test_a_user_with_features_is_shrunk_to_their_vector():
    row = objective()
    users = StructuredUsers(row, weights=np.zeros((1, 5), np.float32), fading=1.0)
    z, one = np.full(5, 2.0, np.float32), np.array([4], np.int32)
    d = row.shrinkage * (1.0 - 1 / FAMILIAR) ** 2
    lam = float(row.regs(np.array([1]))[0])
    plain = replace(row, mean_row=None, shrinkage=0.0)
    wanted = plain.vector(one, pull=np.float32(d + lam) * z, more_reg=d)
    assert np.allclose(users.vector(one, feature_vector=z), wanted, rtol=1e-4)
    assert np.array_equal(users.vector(NOBODY, feature_vector=z), z)
