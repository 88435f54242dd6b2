"""Intervals against their naive twin, and what 80 % means."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kernels import interval as kernels
from core.online.interval import Intervals
from tests.core import reference_default as reference


def stream(n, seed=0, users=200, items=300):
    """Return centers, context and ratings whose spread depends on the user's number of events."""
    rng = np.random.default_rng(seed)
    known = np.zeros((n, 5))
    known[:, 1] = rng.integers(0, users, n)
    known[:, 2] = rng.integers(0, items, n)
    center = rng.uniform(1.5, 4.5, n)
    spread = np.where(known[:, 1] < 20, 0.9, 0.3)
    return center, known, center + spread * rng.normal(size=n)


def twin_state():
    buckets, bins = kernels.BUCKETS, kernels.BINS
    bounds = np.zeros((buckets, 3))
    bounds[:, :2] = -1.5, 1.5
    return np.zeros((buckets, bins)), np.ones(buckets), bounds


@given(n=st.integers(1, 400), seed=st.integers(0, 99), users=st.sampled_from([1, 7, 200]))
def test_intervals_agree_with_the_naive_twin(n, seed, users):
    center, known, rating = stream(n, seed, users)
    model = Intervals(1.0, 5.0)
    out, wanted = model.learn(center, known, rating), np.empty((n, 2))
    histogram, weight, bounds = twin_state()
    reference.interval(center, known, rating, histogram, weight, bounds, None, 1.0, 5.0, wanted)
    np.testing.assert_allclose(out, wanted, atol=1e-9)
    np.testing.assert_allclose(model.state["bounds"], bounds, atol=1e-9)
    np.testing.assert_allclose(model.state["weight"], weight, rtol=1e-9)
    for bucket, row in enumerate(histogram):
        np.testing.assert_allclose(model.state[f"histogram.{bucket}"], row, rtol=1e-9)
    reference.interval_predict(center, known, bounds, 1.0, 5.0, wanted)
    np.testing.assert_allclose(model.predict(center, known), wanted, atol=1e-9)


def test_eighty_percent_fall_inside_in_every_bucket():
    center, known, rating = stream(60_000)
    model = Intervals(-np.inf, np.inf)
    model.learn(center, known, rating)
    center, known, rating = stream(20_000, seed=1)
    low, high = model.predict(center, known).T
    inside = (low <= rating) & (rating <= high)
    for few in (True, False):
        assert inside[(known[:, 1] < 20) == few].mean() == pytest.approx(0.8, abs=0.02)


def test_users_with_few_events_get_wider_intervals():
    center, known, rating = stream(20_000)
    model = Intervals(-np.inf, np.inf)
    model.learn(center, known, rating)
    low, high = model.predict(center, known).T
    width, few = high - low, known[:, 1] < 20
    assert width[few].mean() > 2.0 * width[~few].mean()


def test_before_any_rating_an_interval_is_wide_and_on_the_scale():
    model = Intervals(1.0, 5.0)
    nobody = np.zeros((2, 5))
    assert model.predict(np.array([3.0, 4.5]), nobody).tolist() == [[1.5, 4.5], [3.0, 5.0]]


@pytest.mark.parametrize("residual", [-4.0, -0.2, 0.0, 0.2, 4.0])
def test_after_the_first_ratings_intervals_stay_wide_and_hold_the_prediction(residual):
    model = Intervals(-np.inf, np.inf)
    for _ in range(3):
        model.learn(np.array([3.0]), np.zeros((1, 5)), np.array([3.0 + residual]))
        low, high = model.predict(np.array([3.0]), np.zeros((1, 5)))[0]
        assert low <= 3.0 <= high
        assert high - low > 2.0


def test_an_event_changes_one_histogram():
    model = Intervals(1.0, 5.0)
    center, known, rating = stream(200)
    model.learn(center, known, rating)
    before = {name: array.copy() for name, array in model.state.items()}
    model.learn(center[:1], known[:1], rating[:1])
    histograms = [name for name in before if name.startswith("histogram")]
    changed = [name for name in histograms if (before[name] != model.state[name]).any()]
    assert len(changed) == 1


def test_new_residuals_outweigh_old_ones_and_weights_stay_bounded():
    model = Intervals(-np.inf, np.inf)
    n = 100_000
    known, center = np.zeros((n, 5)), np.full(n, 3.0)
    rng = np.random.default_rng(0)
    model.learn(center, known, 3.0 + 0.2 * rng.normal(size=n))
    model.learn(center[:20_000], known[:20_000], 3.0 + rng.normal(size=20_000))
    low, high = model.predict(center[:1], known[:1])[0]
    assert high - low == pytest.approx(2 * 1.2816, abs=0.15)
    assert model.state["weight"].max() <= kernels.LIMIT


def test_a_residual_beyond_the_histogram_counts_at_its_end():
    model = Intervals(-np.inf, np.inf)
    center, known = np.array([0.0, 0.0]), np.zeros((2, 5))
    model.learn(center, known, np.array([100.0, -100.0]))
    histogram = model.state["histogram.0"]
    assert histogram[-1] > 0.0
    assert histogram[0] > 0.0
