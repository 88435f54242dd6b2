"""The best items, exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.batch.popularity import Popular
from core.batch.ranker import rank
from core.errors import ConfigError, NotFitted, ShapeError
from core.interactions import from_pairs
from core.kernels import topk
from tests.core import reference_batch as reference


def draw(rng, users, items, g, *, ties):
    """Whole numbers are exact in float32 and make ties."""
    values = (
        rng.integers(-2, 3, (users + items, g)) if ties else rng.normal(size=(users + items, g))
    )
    values = values.astype(np.float32)
    return values[:users].copy(), values[users:].copy()


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    users=st.integers(1, 5),
    items=st.integers(1, 70),
    k=st.integers(1, 80),
    ties=st.booleans(),
)
def test_the_lists_are_those_of_a_full_sort(seed, users, items, k, ties):
    rng = np.random.default_rng(seed)
    u, q = draw(rng, users, items, 3, ties=ties)
    excluded = from_pairs(
        *np.nonzero(rng.random((users, items)) < 0.3), n_users=users, n_items=items
    )
    expected = np.empty((users, k), np.int32), np.empty((users, k), np.float32)
    reference.top_k_all(u, q, excluded.ptr, excluded.item_ix, *expected)
    found = rank(u, q, excluded, k)
    assert np.array_equal(found[0], expected[0])
    assert np.allclose(found[1], expected[1], rtol=1e-5, atol=1e-6)


def test_results_do_not_depend_on_blocks_and_tiles():
    rng = np.random.default_rng(1)
    users, items = topk.BLOCK + 3, topk.TILE + topk.STRIP + 5
    u, q = draw(rng, users, items, 2, ties=True)
    excluded = from_pairs(
        *np.nonzero(rng.random((users, items)) < 0.1), n_users=users, n_items=items
    )
    expected = np.empty((users, 7), np.int32), np.empty((users, 7), np.float32)
    reference.top_k_all(u, q, excluded.ptr, excluded.item_ix, *expected)
    assert np.array_equal(rank(u, q, excluded, 7)[0], expected[0])


def test_a_nan_score_never_enters_a_list():
    u, q = np.ones((1, 1), np.float32), np.array([[np.nan], [1.0], [np.nan], [2.0]], np.float32)
    nobody = from_pairs(np.array([]), np.array([]), n_users=1, n_items=4)
    assert rank(u, q, nobody, 4)[0].tolist() == [[3, 1, -1, -1]]


def test_popular_recommends_frequent_items_that_the_user_lacks():
    pairs = from_pairs(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 2, 1]), n_items=4)
    model = Popular().fit(pairs)
    ids, scores = model.recommend(0, pairs, 4)
    assert ids.tolist() == [2, 3, -1, -1]
    assert scores[:2].tolist() == [1.0, 0.0]
    assert model.recommend(0, pairs, 2, filter_already_liked_items=False)[0].tolist() == [1, 0]
    several = model.recommend(np.array([0, 2]), pairs, 2, filter_items=np.array([2]))[0]
    assert several.tolist() == [[3, -1], [0, 3]]


def test_unrankable_input_is_refused_with_the_reason():
    pairs = from_pairs(np.array([0]), np.array([0]))
    with pytest.raises(NotFitted, match="call fit first"):
        Popular().recommend(0, pairs)
    model = Popular().fit(pairs)
    with pytest.raises(ConfigError, match="N must be at least 1"):
        model.recommend(0, pairs, 0)
    with pytest.raises(ConfigError, match="user numbers"):
        model.recommend(-1, pairs)
    with pytest.raises(ShapeError, match="the model has 1 items"):
        model.recommend(0, from_pairs(np.array([0]), np.array([1])))
