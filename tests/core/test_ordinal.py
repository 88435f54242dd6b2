"""The pair risk, its closed forms, the doubly stochastic recursion and the search, against naive twins."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from core.errors import ConfigError, DataError, ShapeError, SnapshotFormat
from core.ordinal import snapshot
from core.ordinal.closed_form import in_features, in_rows
from core.ordinal.config import OrdinalConfig
from core.ordinal.judge import equal_levels, mean_auc
from core.ordinal.pairing import pairing
from core.ordinal.qs3orao import LEAST_REG, fit
from core.ordinal.random_features import RandomFeatures, kernel_of, waves
from core.ordinal.recursion import Steps, descend
from core.ordinal.search import search
from core.ordinal.widths import Evidence, find_widths
from core.snapshot import array_bytes, restored
from tests.core import reference_ordinal as naive

LEVELS = 4


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def world(rng):
    """Return rows in 0..1 (60, 3), their levels 1..4 by the first two features, and groups with 20 unlabelled."""
    x = rng.random((60, 3))
    level = equal_levels(np.sin(3.0 * x[:, 0]) + x[:, 1] ** 2, LEVELS)
    group = np.where(np.arange(60) < 40, level, 0)
    return x, level, group


def counts(group):
    return np.bincount(group, minlength=LEVELS + 1)


def group_means(scores, group):
    return np.array([scores[group == c].mean() if (group == c).any() else 0.0 for c in range(5)])


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_the_risk_is_the_mean_over_all_pairs(rng, world, gamma):
    _, _, group = world
    scores = rng.normal(size=60)
    pairs = pairing(counts(group), gamma)
    found = pairs.risk(group_means(scores, group), group_means(scores**2, group))
    assert found == pytest.approx(naive.risk(scores, group, LEVELS, gamma), rel=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_the_slopes_are_the_differences_of_the_risk(rng, world, gamma):
    _, _, group = world
    scores = rng.normal(size=60)
    slopes = pairing(counts(group), gamma).slopes(scores, group)
    h = 1e-5
    for at in range(0, 60, 7):
        up, down = scores.copy(), scores.copy()
        up[at] += h
        down[at] -= h
        change = naive.risk(up, group, LEVELS, gamma) - naive.risk(down, group, LEVELS, gamma)
        assert slopes[at] == pytest.approx(change / (2 * h), abs=1e-8)


def test_the_linear_part_does_not_depend_on_the_unlabelled_rows(world):
    _, _, group = world
    one, other = (pairing(counts(group), gamma).linear for gamma in (0.0, 1.0))
    np.testing.assert_allclose(one, other, atol=1e-15)


def test_a_level_without_rows_leaves_its_splits_whole(rng):
    pairs = pairing(np.array([0, 3, 0, 3, 0]), 1.0)
    twice = pairing(np.array([0, 3, 3]), 1.0)
    np.testing.assert_allclose(pairs.square[[1, 3]], twice.square[1:])
    assert pairs.square[[2, 4]].tolist() == [0.0, 0.0]


def test_features_of_all_blocks_make_the_kernel(rng):
    x, widths = rng.random((5, 3)), np.array([0.5, 2.0, 0.0])
    features = RandomFeatures(widths, 256, seed=3)
    all_of = waves(x.astype(np.float32), features.all_frequencies(80)) / (80 * 256) ** 0.5
    np.testing.assert_allclose(all_of @ all_of.T, kernel_of(x, x, widths), atol=0.03)
    np.testing.assert_array_equal(features.frequencies(7), features.frequencies(7))
    assert not np.allclose(features.frequencies(7), features.frequencies(8))


@pytest.mark.parametrize(("gamma", "m"), list(product([0.4, 1.0], [12, 50])))
def test_the_closed_form_has_no_slope(world, gamma, m):
    # 24 features are fewer than the rows, 100 are more: two ways to solve
    x, _, group = world
    reg, pairs = 0.05, pairing(counts(group), gamma)
    frequencies = RandomFeatures(np.full(3, 0.7), m, 0).frequencies(0)
    weights = in_features(x.astype(np.float32), group, frequencies, pairs, reg)
    features = waves(x.astype(np.float32), frequencies).astype(np.float64) / m**0.5
    slope = features.T @ pairs.slopes(features @ weights, group) + reg * weights
    assert np.abs(slope).max() < 1e-6


def test_the_closed_form_in_rows_is_that_in_features(world):
    x, _, group = world
    pairs = pairing(counts(group), 0.4)
    frequencies = RandomFeatures(np.full(3, 0.7), 12, 0).frequencies(0)
    features = waves(x.astype(np.float32), frequencies).astype(np.float64) / 12**0.5
    weights = in_features(x.astype(np.float32), group, frequencies, pairs, 0.05)
    rows = in_rows(features @ features.T, group, pairs, 0.05)
    np.testing.assert_allclose(features @ weights, features @ (features.T @ rows), atol=1e-5)


def test_the_recursion_is_the_one_that_recomputes_every_block(world):
    x, _, group = world
    features = RandomFeatures(np.full(3, 0.7), 6, 1)
    by = Steps(steps=15, reg=0.5, per_level=3, unlabelled=5, gamma=0.4, seed=2)
    found = descend(x.astype(np.float32), group, LEVELS, features, by)
    expected = naive.descend(x.astype(np.float32), group, LEVELS, features, by)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_with_one_block_the_recursion_is_plain_descent_in_its_features(world):
    x, _, group = world
    features = RandomFeatures(np.full(3, 0.7), 6, 1)
    by = Steps(steps=25, reg=0.5, per_level=3, unlabelled=5, gamma=0.4, blocks=1, seed=2)
    found = descend(x.astype(np.float32), group, LEVELS, features, by)
    expected = naive.plain_descent(x.astype(np.float32), group, LEVELS, features, by)
    np.testing.assert_allclose(found[0], expected, atol=1e-6)


def test_a_step_that_forgets_everything_is_no_division_by_zero(world):
    x, _, group = world
    # theta 2 and no limit of the first step, as printed: the second one multiplies what was learned by 0
    by = Steps(steps=6, reg=0.5, theta=2.0, first=1e9, per_level=3, unlabelled=5, seed=2)
    assert 1.0 - by.size(2) * by.reg == pytest.approx(0.0, abs=1e-8)
    features = RandomFeatures(np.full(3, 0.7), 6, 1)
    found = descend(x.astype(np.float32), group, LEVELS, features, by)
    expected = naive.descend(x.astype(np.float32), group, LEVELS, features, by)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_the_steps_lead_to_the_closed_form(world):
    x, _, group = world
    features, reg = RandomFeatures(np.full(3, 0.7), 8, 1), 0.1
    by = Steps(steps=4000, reg=reg, per_level=40, unlabelled=40, blocks=1, gamma=0.5)
    z = x.astype(np.float32)
    steps = descend(z, group, LEVELS, features, by)[0]
    solved = in_features(z, group, features.frequencies(0), pairing(counts(group), 0.5), reg)
    scores = features.of(0, z) @ np.stack([steps, solved], axis=1)
    assert np.abs(scores[:, 0] - scores[:, 1]).max() < 0.1 * scores[:, 1].std()


def test_the_slope_of_the_evidence_is_its_difference(rng):
    x, h = rng.random((30, 3)), 1e-5
    target = np.sin(4.0 * x[:, 0]) + 0.1 * rng.normal(size=30)
    evidence = Evidence(x, target - target.mean())
    logs = np.array([0.3, -1.0, -2.0, -1.5])
    _, slope = evidence(logs)
    for at in range(4):
        step = h * np.eye(4)[at]
        change = evidence(logs + step)[0] - evidence(logs - step)[0]
        assert slope[at] == pytest.approx(change / (2 * h), rel=1e-5)


def test_a_feature_that_says_nothing_gets_a_flat_kernel(rng):
    x = rng.random((150, 3))
    widths = find_widths(x, np.sin(6.0 * x[:, 0]))
    assert widths[0] > 20 * widths[1:].max()


def test_the_search_asks_rows_that_did_not_teach(world):
    x, level, _ = world
    found = search(x[:40], level[:40], x[40:], seed=0)
    assert found.auc > 0.85
    assert found.scores.shape == found.level.shape == (40,)
    assert mean_auc(found.scores, found.level) > 0.9


def big(rng, n=500, labelled=120):
    x = rng.random((n, 4)) * [1.0, 100.0, 1.0, 0.0] + [0.0, -7.0, 5.0, 3.0]
    level = equal_levels(np.sin(3.0 * x[:, 0]) + (x[:, 1] / 100.0) ** 2, 3)
    return x, level, np.where(np.arange(n) < labelled, level, 0)


@pytest.mark.parametrize("solver", ["closed", "stochastic"])
def test_few_labels_order_the_rest(rng, solver):
    x, level, known = big(rng)
    model = fit(x, known, 3, OrdinalConfig(solver=solver, blocks=4, steps=300))
    rest = known == 0
    assert mean_auc(model.scores(x[rest]), level[rest]) > 0.95
    assert (model.level(x[rest]) == level[rest]).mean() > 0.7
    chances = model.probabilities(x[rest])
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)
    assert (chances >= 0.0).all()
    expected = model.levels.expected(model.scores(x[rest]))
    np.testing.assert_allclose(expected, chances @ [1, 2, 3], atol=1e-12)
    assert np.corrcoef(expected, level[rest])[0, 1] > 0.8
    # how often the level is the likely one is about how likely it is
    assert chances.max(axis=1).mean() == pytest.approx(
        (1 + chances.argmax(axis=1) == level[rest]).mean(), abs=0.12
    )


def test_a_fit_repeats_and_its_snapshot_scores_the_same_bits(rng):
    x, _, known = big(rng)
    config = OrdinalConfig(blocks=4, seed=5)
    one, other = fit(x, known, 3, config), fit(x, known, 3, config)
    np.testing.assert_array_equal(one.scores(x), other.scores(x))
    taken = snapshot.of_model(one, settings={"levels": 3}, metrics={"auc": one.auc}, cuts={})
    parts = {name: array_bytes(array) for name, array in taken.arrays.items()}
    back = snapshot.model_of(restored(taken.manifest, parts))
    np.testing.assert_array_equal(back.scores(x), one.scores(x))
    np.testing.assert_array_equal(back.probabilities(x), one.probabilities(x))
    assert (back.reg, back.gamma, back.auc) == (one.reg, one.gamma, one.auc)
    assert sum(map(len, parts.values())) < 10_000


def test_a_snapshot_of_another_model_is_refused(rng):
    x, _, known = big(rng, 60, 40)
    taken = snapshot.of_model(
        fit(x, known, 3, OrdinalConfig(blocks=1)), settings={}, metrics={}, cuts={}
    )
    bare = type(taken)(taken.model, {"low": taken.arrays["low"]}, taken.parameters)
    with pytest.raises(SnapshotFormat, match="not of an ordinal model"):
        snapshot.model_of(bare)


@pytest.mark.parametrize(
    "spoil", ["one level", "constant", "not finite", "too large", "beyond", "one row"]
)
def test_what_cannot_teach_is_refused_with_the_reason(rng, spoil):
    x, _, known = big(rng, 60, 40)
    match spoil:
        case "one level":
            known, says = np.where(known > 0, 2, 0), "one level"
        case "constant":
            x, says = np.ones_like(x), "no feature varies"
        case "not finite":
            x[3, 1], says = np.nan, "finite"
        case "too large":
            x[3, 1], says = -1.7e308, "at most 1e"
        case "beyond":
            known[0], says = 4, r"in 1 \.\. 3"
        case _:
            known[1:], says = 0, "one level"
    with pytest.raises(DataError, match=says):
        fit(x, known, 3)


def test_two_labelled_rows_are_enough_to_answer(rng):
    x, level, known = big(rng, 40, 40)
    keep = [int(np.flatnonzero(level == c)[0]) for c in (1, 3)]
    only = np.zeros_like(known)
    only[keep] = level[keep]
    assert np.isfinite(fit(x, only, 3, OrdinalConfig(blocks=1)).scores(x)).all()


def test_a_level_that_few_of_many_rows_have_is_not_lost(rng):
    x = rng.random((1_000, 2))
    level = np.where(x[:, 0] > np.sort(x[:, 0])[-4], 2, 1)
    model = fit(x, level, 2, OrdinalConfig(blocks=4))
    assert np.isfinite(model.levels.thresholds).all()
    assert mean_auc(model.scores(x), level) > 0.95


@pytest.mark.parametrize("size", [1e99, 1e-320])
def test_features_of_any_size_are_ranges_of_finite_numbers(rng, size):
    x, level, known = big(rng, 80, 60)
    x[:, 3] = np.where(np.arange(80) % 2, size, -size)
    model = fit(x, known, 3, OrdinalConfig(blocks=1))
    assert np.isfinite(model.scores(x)).all()
    assert mean_auc(model.scores(x), level) > 0.8


def test_the_settings_of_the_steps_are_those_that_they_took(rng):
    x, _, known = big(rng, 200, 100)
    config = OrdinalConfig(solver="stochastic", blocks=1, steps=5)
    found = [fit(x, known, 3, replace(config, solver=name)) for name in ("closed", "stochastic")]
    assert found[1].reg == max(found[0].reg, LEAST_REG)


def test_rows_of_another_width_are_refused(rng):
    x, _, known = big(rng, 60, 40)
    with pytest.raises(ShapeError):
        fit(x, known[:-1], 3)
    with pytest.raises(ShapeError, match="the model knows 4"):
        fit(x, known, 3, OrdinalConfig(blocks=1)).scores(x[:, :2])


@pytest.mark.parametrize("wrong", [{"solver": "magic"}, {"blocks": 0}, {"gammas": (2.0,)}])
def test_settings_outside_their_bounds_are_refused(wrong):
    with pytest.raises(ConfigError):
        OrdinalConfig(**wrong)


def test_auc_is_the_share_of_pairs_in_order(rng):
    scores, level = rng.integers(0, 6, 50).astype(float), rng.integers(1, 5, 50)
    assert mean_auc(scores, level) == pytest.approx(naive.mean_auc(scores, level), abs=1e-12)


def test_equal_values_share_a_level():
    assert equal_levels(np.array([1.0, 1.0, 1.0, 2.0, 3.0]), 5).tolist() == [1, 1, 1, 2, 3]
    with pytest.raises(DataError, match="one level"):
        equal_levels(np.ones(4), 5)
