"""fBGD: exact sums without visiting all pairs, falling losses, the same bits for all threads."""

import tracemalloc

import numba
import numpy as np
import pytest

from core import ranking_metrics
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd, _Sides
from core.batch.gram import spectrum
from core.batch.popularity import Popular
from core.batch.ranker import rank
from core.batch.row_objective import ONE
from core.batch.weighting import negative_weights, scaled_reg
from core.errors import ConfigError, DataError, Diverged, NotFitted
from core.interactions import chunks, from_pairs
from core.kernels import fbgd
from core.splits import split_within_users
from tests.core import ranking
from tests.core import reference_batch as reference

BELOW = -0.5


def arguments(pairs, negative, of_items, gram, linear, reg, fixed, rows):
    """Return what both solve_rows twins take before ``steps``."""
    return (
        chunks(pairs.ptr, 3),
        pairs.ptr,
        pairs.item_ix,
        ONE if pairs.weight is None else pairs.weight,
        ONE if pairs.target is None else pairs.target,
        negative,
        np.float32(BELOW),
        of_items,
        gram,
        linear,
        *(() if reg is None else (reg,)),
        fixed,
        rows,
    )


def draw(shape, seed):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("of_items", [False, True])
@pytest.mark.parametrize("g", [1, 3, 17])
def test_the_steps_equal_those_with_a_dense_matrix(weighted, of_items, g):
    pairs = ranking.tiny(weighted=weighted)
    negative = np.linspace(0.05, 0.4, pairs.n_items).astype(np.float32)
    side = pairs.by_item() if of_items else pairs
    gram, linear = np.linspace(0.5, 2.0, g).astype(np.float32), draw(g, 1)
    reg, fixed = np.linspace(0.3, 1.0, side.n_users).astype(np.float32), draw((side.n_items, g), 2)
    results = []
    for solve in (fbgd.solve_rows, reference.solve_rows):
        rows, loss = draw((side.n_users, g), 3), np.empty(3)
        solve(*arguments(side, negative, of_items, gram, linear, reg, fixed, rows), 3, 1e-4, loss)
        results.append((rows, loss.sum()))
    assert np.allclose(results[0][0], results[1][0], rtol=2e-3, atol=2e-4)
    assert results[0][1] == pytest.approx(results[1][1], rel=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_is_that_of_brute_force_over_all_pairs(weighted):
    pairs = ranking.tiny(weighted=weighted)
    negative = np.linspace(0.05, 0.4, pairs.n_items).astype(np.float32)
    users, items = draw((pairs.n_users, 3), 1), draw((pairs.n_items, 3), 2)
    observed, weight, target = reference.dense(pairs)
    exact = reference.exact_gradient(observed, weight, target, negative, BELOW, users, items)
    for of_items, side, fixed, rows, wanted in (
        (False, pairs, items, users, exact[0]),
        (True, pairs.by_item(), users, items, exact[1]),
    ):
        a = np.ones(fixed.shape[0]) if of_items else negative
        gram = np.ascontiguousarray((fixed * a[:, None]).T @ fixed, np.float32)
        linear = (BELOW * (fixed.T @ a)).astype(np.float32)
        for compute in (fbgd.gradient, reference.gradient):
            out, loss = np.empty_like(rows), np.empty(3)
            compute(
                *arguments(side, negative, of_items, gram, linear, None, fixed, rows), out, loss
            )
            assert np.allclose(out, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("parts", [1, 3, 20])
def test_gram_and_rotation_are_the_same_in_parts(parts):
    factors, weight = draw((11, 4), 1), np.linspace(0.1, 1.0, 11).astype(np.float32)
    cut = chunks(np.arange(12), parts)
    whole, naive = np.empty((parts, 4, 4), np.float32), np.empty((parts, 4, 4), np.float32)
    fbgd.gram_parts(cut, factors, weight, whole)
    reference.gram_parts(cut, factors, weight, naive)
    assert np.allclose(whole.sum(0), naive.sum(0), rtol=1e-5, atol=1e-6)
    basis = np.ascontiguousarray(np.linalg.qr(draw((4, 4), 2))[0])
    turned, naive_turned = factors.copy(), factors.copy()
    fbgd.rotate(cut, turned, basis)
    reference.rotate(cut, naive_turned, basis)
    assert np.allclose(turned, naive_turned, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_that_of_brute_force_over_all_pairs(weighted):
    pairs = ranking.tiny(weighted=weighted)
    config = FbgdConfig(
        factors=3,
        alpha0=4.0,
        rho=0.5,
        reg=0.7,
        nu_user=0.3,
        nu_item=0.9,
        negative_target=BELOW,
        start=1.0,
    )
    negative = reference.negative_weights(pairs.item_counts, 4.0, 0.5)
    user_reg = reference.scaled_reg(pairs.user_counts, 0.7, 0.3)
    item_reg = reference.scaled_reg(pairs.item_counts, 0.7, 0.9)
    sides = _Sides(config, pairs, None)
    for _ in range(3):
        sides.epoch()
        # the next half epoch reports the loss of the factors as they are now
        users = sides.users @ sides.turn
        expected = reference.loss(*reference.dense(pairs), negative, BELOW, users, sides.items)
        expected += (user_reg @ np.square(users)).sum()
        expected += (item_reg @ np.square(sides.items)).sum()
        before = len(sides.losses)
        sides.epoch()
        assert sides.losses[before] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("rho", [0.0, 0.4, 0.8, 1.0])
def test_unobserved_pairs_are_weighted_by_equation_22(rho):
    counts = np.array([0, 1, 2, 5, 40])
    weights = negative_weights(counts, 12.0, rho)
    assert np.allclose(weights, reference.negative_weights(counts, 12.0, rho), rtol=1e-6)
    assert weights.sum() == pytest.approx(12.0)


def test_users_are_folded_in_with_the_users_own_settings():
    pairs = ranking.tiny(weighted=True)
    config = FbgdConfig(factors=3, alpha0=4.0, rho=0.5, reg=0.7, nu_user=0.2, nu_item=1.0, epochs=3)
    model = Fbgd(config).fit(pairs)
    negative = reference.negative_weights(pairs.item_counts, 4.0, 0.5)
    regs = reference.scaled_reg(pairs.user_counts, 0.7, 0.2)
    rows = zip(*reference.dense(pairs), regs, strict=True)
    wanted = [
        reference.exact_row(o, w, t, negative, 0.0, reg, model.item_factors)
        for o, w, t, reg in rows
    ]
    assert np.allclose(model.user_vectors(pairs), wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("below", [0.0, BELOW])
def test_the_loss_never_rises(below):
    config = FbgdConfig(factors=8, alpha0=60.0, rho=0.3, reg=0.5, epochs=15, negative_target=below)
    losses = Fbgd(config).fit(ranking.tribes()).losses
    assert len(losses) == 30
    assert (np.diff(losses) <= 1e-6 * np.abs(losses[:-1])).all()
    assert losses[-1] < 0.9 * losses[0]


def test_many_steps_reach_the_result_of_exact_alternation():
    pairs = ranking.tiny(users=12, items=10)
    config = FbgdConfig(factors=2, alpha0=3.0, reg=0.5, epochs=60, steps=8, start=1.0)
    model = Fbgd(config).fit(pairs)
    negative = negative_weights(pairs.item_counts, 3.0, 0.0)
    users = model.user_vectors(pairs)
    observed, weight, target = reference.dense(pairs)
    found = reference.loss(observed, weight, target, negative, 0.0, users, model.item_factors)
    rng = np.random.default_rng(0)
    items, known = rng.normal(size=(10, 2)), pairs.by_item()
    user_reg = scaled_reg(pairs.user_counts, 0.5, 0.5, model.fitted.mean_count)
    item_reg = scaled_reg(known.user_counts, 0.5, 0.5, known.user_counts[1:].mean())
    for _ in range(300):
        rows = zip(observed, weight, target, user_reg, strict=True)
        users = np.array(
            [reference.exact_row(o, w, t, negative, 0.0, r, items) for o, w, t, r in rows]
        )
        columns = zip(observed.T, weight.T, target.T, negative, item_reg, strict=True)
        items = np.array(
            [
                reference.exact_row(o, w, t, np.full(12, a), 0.0, r, users)
                for o, w, t, a, r in columns
            ]
        )
    exact = reference.loss(observed, weight, target, negative, 0.0, users, items)
    assert found == pytest.approx(exact, rel=2e-2)


class Counted(np.ndarray):
    """An array that counts how often its elements are read."""

    asked = 0

    def __getitem__(self, at):
        Counted.asked += 1
        return super().__getitem__(at)


def counted_epoch(monkeypatch, n_users):
    """Return the accesses and the peak memory of an epoch over so many users with 6 pairs each."""
    pairs = from_pairs(
        np.repeat(np.arange(n_users), 6),
        np.random.default_rng(0).integers(0, 20, 6 * n_users),
        n_users=n_users,
        n_items=20,
    )
    sides = _Sides(FbgdConfig(factors=3), pairs, None)
    sides.epoch()
    solve = fbgd.solve_rows.py_func

    def solve_counted(*given):
        solve(*(one.view(Counted) if isinstance(one, np.ndarray) else one for one in given))

    with monkeypatch.context() as patched:
        # the same loops without compilation
        patched.setattr(fbgd, "solve_rows", solve_counted)
        patched.setattr(fbgd, "_fetch", lambda *given: None)
        Counted.asked = 0
        sides.epoch()
    tracemalloc.start()
    sides.epoch()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Counted.asked, peak


def test_an_epoch_costs_four_times_as_much_for_four_times_the_users_and_pairs(monkeypatch):
    # quadratic growth would make it 16
    few, many = (counted_epoch(monkeypatch, n) for n in (100, 400))
    assert 3.0 < many[0] / few[0] < 5.0
    # a few fixed buffers beside the rows
    assert many[1] / few[1] < 5.0


def test_it_beats_popularity_by_far():
    fit, held = split_within_users(ranking.tribes(), 0.2, np.random.default_rng(1))
    users = np.flatnonzero(held.user_counts)
    ndcg = []
    for model in (Popular(), Fbgd(FbgdConfig(factors=8, alpha0=60.0, reg=1.0, epochs=10))):
        model.fit(fit)
        seen = fit.rows(users)
        ids, _ = rank(model.user_vectors(seen), model.item_factors, seen, 10)
        ndcg.append(ranking_metrics.ndcg(ranking_metrics.hits(ids, held.rows(users)), 10).mean())
    assert ndcg[1] > 1.3 * ndcg[0]


def test_similar_items_are_of_the_same_tribe():
    model = Fbgd(FbgdConfig(factors=8, alpha0=60.0, reg=1.0, epochs=10)).fit(ranking.tribes())
    ids, scores = model.similar_items(5, 4)
    assert ids[0] == 5
    assert scores[0] == pytest.approx(1.0, abs=1e-5)
    assert (ids % 4 == 1).all()


def test_threads_and_repetition_change_no_bit():
    pairs = ranking.tribes()
    config = FbgdConfig(factors=8, alpha0=60.0, reg=1.0, epochs=4)
    usual = Fbgd(config).fit(pairs)
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        alone = Fbgd(config).fit(pairs)
    finally:
        numba.set_num_threads(before)
    assert np.array_equal(usual.item_factors, alone.item_factors)
    assert np.array_equal(usual.user_vectors(pairs), alone.user_vectors(pairs))


def test_a_warm_start_with_new_users_and_items_needs_one_epoch():
    pairs = ranking.tribes(users=200, items=80)
    old = pairs.keep((pairs.user_ix < 180) & (pairs.item_ix < 76))
    known = from_pairs(old.user_ix, old.item_ix, n_users=180, n_items=76)
    config = FbgdConfig(factors=8, alpha0=60.0, reg=1.0, epochs=12)
    before = Fbgd(config).fit(known).fitted
    one = FbgdConfig(factors=8, alpha0=60.0, reg=1.0, epochs=1)
    warm = Fbgd(one).fit(pairs, previous=before)
    cold = Fbgd(config).fit(pairs)
    # the users adapt to the old items before the items move
    assert warm.losses[1] < 1.05 * cold.losses[-1]
    new = warm.item_factors[76:]
    assert (np.linalg.norm(new, axis=1) > 0).all()


def test_a_previous_model_of_another_shape_is_refused():
    model = Fbgd(FbgdConfig(factors=4, epochs=1)).fit(ranking.tiny())
    with pytest.raises(ConfigError, match="keep factors and item numbers"):
        Fbgd(FbgdConfig(factors=8)).fit(ranking.tiny(), previous=model.fitted)


def test_the_fit_stops_on_request():
    model = Fbgd(FbgdConfig(factors=2, epochs=9))
    model.fit(ranking.tiny(), on_epoch=lambda model, epoch: epoch == 3)
    assert model.epochs == 3


def test_a_callback_changes_nothing_and_its_models_stay_as_they_were():
    pairs, config = ranking.tribes(), FbgdConfig(factors=8, alpha0=60.0, reg=1.0, epochs=3)
    seen = []

    def look(model, epoch):
        seen.append((model.item_factors, model.item_factors.copy()))
        return False

    watched = Fbgd(config).fit(pairs, on_epoch=look)
    assert np.array_equal(watched.item_factors, Fbgd(config).fit(pairs).item_factors)
    assert all(np.array_equal(kept, then) for kept, then in seen)
    assert not np.array_equal(seen[0][0], seen[1][0])


@pytest.mark.parametrize("g", [16, 21, 40])
def test_the_first_item_vectors_have_the_stated_length_and_differ_by_seed(g):
    starts = [_Sides(FbgdConfig(g, start=0.3, seed=s), ranking.tribes(), None) for s in (0, 0, 1)]
    for sides in starts:
        assert np.allclose(np.linalg.norm(sides.items, axis=1), 0.3, rtol=1e-5)
    assert np.array_equal(starts[0].items, starts[1].items)
    assert not np.array_equal(starts[0].items, starts[2].items)


@pytest.mark.parametrize(
    ("users", "items", "n_users", "n_items"),
    [
        ([0], [0], 1, 1),
        ([0, 0, 0], [0, 1, 2], 1, 3),
        ([0, 1, 2], [0, 0, 0], 3, 1),
        ([2, 2], [3, 3], 5, 6),
    ],
)
def test_the_smallest_worlds_have_a_result(users, items, n_users, n_items):
    pairs = from_pairs(np.array(users), np.array(items), n_users=n_users, n_items=n_items)
    for rho in (0.0, 0.5):
        model = Fbgd(FbgdConfig(factors=16, alpha0=2.0, rho=rho, reg=0.1, epochs=3)).fit(pairs)
        assert np.isfinite(model.item_factors).all()
        assert np.isfinite(model.user_vectors(pairs)).all()


def test_impossible_fits_are_refused_with_the_reason():
    with pytest.raises(DataError, match="no pairs"):
        Fbgd(FbgdConfig()).fit(from_pairs(np.array([]), np.array([]), n_users=2, n_items=2))
    with pytest.raises(NotFitted):
        Fbgd(FbgdConfig()).user_vectors(ranking.tiny())


@pytest.mark.parametrize(
    "settings",
    [
        {"factors": 0},
        {"epochs": 0},
        {"alpha0": float("nan")},
        {"reg": 0.0},
        {"rho": 1.5},
        {"nu_user": -0.1},
        {"negative_target": float("inf")},
        {"factors": 4.5},
        {"epochs": 2.5},
        {"steps": "2"},
        {"reg": "much"},
        {"seed": 0.5},
    ],
)
def test_a_setting_outside_its_bounds_is_refused(settings):
    (name,) = settings
    with pytest.raises(ConfigError, match=name):
        FbgdConfig(**settings)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_a_gram_matrix_that_float32_does_not_hold_has_no_spectrum(value):
    with pytest.raises(Diverged, match="raise reg"):
        spectrum(np.diag([1.0, value, 1e38]))


@pytest.mark.parametrize("settings", [{"start": 1e20}, {"negative_target": 1e20}])
def test_settings_that_diverge_are_an_error_that_says_so(settings):
    with pytest.raises(Diverged, match="keep settings, weights, targets and features near 1"):
        Fbgd(FbgdConfig(factors=4, **settings)).fit(ranking.tiny())


def test_few_factors_start_so_that_two_popular_items_cannot_cancel() -> None:
    pairs = from_pairs(np.repeat(np.arange(6), 2), np.tile([0, 1], 6))
    for seed in range(40):
        model = Fbgd(FbgdConfig(factors=1, epochs=3, seed=seed)).fit(pairs)
        assert np.abs(model.item_factors).max() > 0.0
