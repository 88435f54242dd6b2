"""The best items of one user, exactly, with exclusions and a mask."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels import scan
from tests.core import reference_scan as reference

EVERY = np.empty(0, np.bool_)


def draw(rng, items, g, *, ties):
    """Whole numbers are exact in float32 and make ties."""
    values = rng.integers(-2, 3, (items + 1, g)) if ties else rng.normal(size=(items + 1, g))
    values = values.astype(np.float32)
    return values[0].copy(), values[1:].copy()


def lists(k):
    return np.empty(k, np.int32), np.empty(k, np.float32)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    items=st.integers(0, 70),
    k=st.integers(1, 80),
    ties=st.booleans(),
    masked=st.booleans(),
)
def test_the_list_is_that_of_a_full_sort(seed, items, k, ties, masked):
    rng = np.random.default_rng(seed)
    user, q = draw(rng, items, 3, ties=ties)
    excluded = np.flatnonzero(rng.random(items + 5) < 0.3).astype(np.int32)
    allowed = rng.random(items) < 0.6 if masked else EVERY
    expected, found, chosen = lists(k), lists(k), lists(k)
    reference.scan(user, q, excluded, allowed, *expected)
    scan.scan(user, q, excluded, allowed, *found)
    assert np.array_equal(found[0], expected[0])
    assert np.allclose(found[1], expected[1], rtol=1e-5, atol=1e-6)
    scan.select(q @ user, excluded, allowed, *chosen)
    assert np.array_equal(chosen[0], expected[0])


def test_results_do_not_depend_on_tiles_and_strips():
    rng = np.random.default_rng(1)
    user, q = draw(rng, 2 * scan.TILE + scan.STRIP + 5, 2, ties=True)
    excluded = np.flatnonzero(rng.random(len(q)) < 0.1).astype(np.int32)
    allowed = rng.random(len(q)) < 0.01
    expected, found = lists(50), lists(50)
    reference.scan(user, q, excluded, allowed, *expected)
    scan.scan(user, q, excluded, allowed, *found)
    assert np.array_equal(found[0], expected[0])


def test_a_nan_score_never_enters_a_list():
    q = np.array([[np.nan], [1.0], [np.nan], [2.0]], np.float32)
    found = lists(4)
    scan.scan(np.ones(1, np.float32), q, np.empty(0, np.int32), EVERY, *found)
    assert found[0].tolist() == [3, 1, -1, -1]


@given(seed=st.integers(0, 10**6), items=st.integers(0, 70), k=st.integers(0, 80))
def test_the_head_of_an_order_holds_allowed_items_alone(seed, items, k):
    rng = np.random.default_rng(seed)
    order = rng.permutation(items + 3).astype(np.int32)
    excluded = np.flatnonzero(rng.random(items + 5) < 0.3).astype(np.int32)
    allowed = rng.random(items) < 0.6
    scores = rng.random(order.size).astype(np.float32)
    expected, found = lists(k), lists(k)
    size = reference.first(order, scores, excluded, allowed, *expected)
    assert scan.first(order, scores, excluded, allowed, *found) == size
    assert np.array_equal(found[0][:size], expected[0][:size])
    assert np.array_equal(found[1][:size], expected[1][:size])
