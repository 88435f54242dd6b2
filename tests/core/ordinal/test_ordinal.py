"""The ordinal model: fit, levels, snapshot and search, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from core.errors import ConfigError, DataError, ShapeError, SnapshotFormat
from core.ordinal import snapshot
from core.ordinal.config import OrdinalConfig
from core.ordinal.metrics import equal_levels, mean_auc
from core.ordinal.qs3orao import LEAST_REG, fit
from core.ordinal.search import search
from core.snapshot import array_bytes, restored
from tests.core.levels import levelled


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_the_search_validates_on_rows_outside_the_fit():
    x, level, _ = levelled()
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
    with pytest.raises(SnapshotFormat, match="not the snapshot of an ordinal model"):
        snapshot.model_of(bare)


@pytest.mark.parametrize(
    "spoil", ["the same level", "constant", "not finite", "too large", "beyond", "one row"]
)
def test_rows_that_teach_nothing_are_refused_with_the_reason(rng, spoil):
    x, _, known = big(rng, 60, 40)
    match spoil:
        case "the same level":
            known, says = np.where(known > 0, 2, 0), "the same level"
        case "constant":
            x, says = np.ones_like(x), "all features are constant"
        case "not finite":
            x[3, 1], says = np.nan, "finite"
        case "too large":
            x[3, 1], says = -1.7e308, "at most 1e"
        case "beyond":
            known[0], says = 4, r"in 1 \.\. 3"
        case _:
            known[1:], says = 0, "the same level"
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
def test_features_of_any_size_give_finite_scores(rng, size):
    x, level, known = big(rng, 80, 60)
    x[:, 3] = np.where(np.arange(80) % 2, size, -size)
    model = fit(x, known, 3, OrdinalConfig(blocks=1))
    assert np.isfinite(model.scores(x)).all()
    assert mean_auc(model.scores(x), level) > 0.8


def test_the_model_reports_the_settings_of_its_steps(rng):
    x, _, known = big(rng, 200, 100)
    config = OrdinalConfig(solver="stochastic", blocks=1, steps=5)
    found = [fit(x, known, 3, replace(config, solver=name)) for name in ("closed", "stochastic")]
    assert found[1].reg == max(found[0].reg, LEAST_REG)


def test_rows_of_another_width_are_refused(rng):
    x, _, known = big(rng, 60, 40)
    with pytest.raises(ShapeError):
        fit(x, known[:-1], 3)
    with pytest.raises(ShapeError, match="the model needs 4"):
        fit(x, known, 3, OrdinalConfig(blocks=1)).scores(x[:, :2])


@pytest.mark.parametrize("wrong", [{"solver": "magic"}, {"blocks": 0}, {"gammas": (2.0,)}])
def test_settings_outside_their_bounds_are_refused(wrong):
    with pytest.raises(ConfigError):
        OrdinalConfig(**wrong)
