"""Pairs and their validation."""

import numpy as np
import pytest
from scipy import sparse

from core.errors import DataError, ShapeError
from core.interactions import as_interactions, from_pairs
from tests.core import ranking, reference_batch


def as_set(pairs):
    return set(zip(pairs.user_ix.tolist(), pairs.item_ix.tolist(), strict=True))


def test_the_last_of_several_rows_of_a_pair_counts():
    pairs = from_pairs(np.array([1, 0, 1]), np.array([2, 0, 2]), weight=np.array([3.0, 1.0, 5.0]))
    assert pairs.ptr.tolist() == [0, 1, 2]
    assert pairs.item_ix.tolist() == [0, 2]
    assert pairs.weight.tolist() == [1.0, 5.0]


def test_a_negative_value_of_a_matrix_is_a_dislike():
    matrix = sparse.csr_array(np.array([[2.0, -3.0], [0.0, 1.0]]))
    pairs = as_interactions(matrix)
    assert (pairs.item_ix.tolist(), pairs.weight.tolist()) == ([0, 1, 1], [2.0, 3.0, 1.0])
    assert pairs.target.tolist() == [1.0, 0.0, 1.0]


def test_duplicate_values_of_a_matrix_are_added():
    two = np.array([100, 100], np.int8), (np.array([0, 0]), np.array([1, 1]))
    pairs = as_interactions(sparse.coo_array(two, shape=(1, 2)))
    assert (pairs.weight.tolist(), pairs.target) == ([200.0], None)
    said = sparse.coo_array((np.ones(2, bool), (np.array([0, 0]), np.array([1, 1]))), shape=(1, 2))
    assert as_interactions(said).weight is None
    with pytest.raises(ShapeError, match="complex128 holds no weights"):
        as_interactions(sparse.csr_array(np.ones((1, 2), np.complex128)))


def test_the_transpose_of_the_transpose_is_the_same():
    pairs = ranking.tiny(weighted=True)
    again = pairs.by_item().by_item()
    for name in ("ptr", "item_ix", "weight", "target"):
        assert np.array_equal(getattr(again, name), getattr(pairs, name))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(9, 7), (1, 1), (1, 9), (60, 2)])
def test_the_transpose_agrees_with_its_twin(weighted, shape):
    users, items = shape
    pairs = ranking.tiny(users=users, items=items, weighted=weighted) if users > 8 else whole(shape)
    none = np.empty(0, np.float32)
    given = [none if v is None else v for v in (pairs.weight, pairs.target)]
    wanted = [np.empty(len(pairs), np.int32), *map(np.empty_like, given)]
    reference_batch.transpose(pairs.ptr, pairs.item_ix, *given, None, *wanted)
    found = pairs.by_item()
    assert found.ptr.tolist() == [0, *np.cumsum(pairs.item_counts)]
    for name, values in zip(("item_ix", "weight", "target"), wanted, strict=True):
        if values.size:
            assert np.array_equal(getattr(found, name), values)


def whole(shape):
    """Return all pairs, one of them with a weight."""
    users, items = (ix.ravel() for ix in np.indices(shape))
    weight = 1.0 + (np.arange(users.size) == 0)
    return from_pairs(users, items, weight=weight, target=2.0 * weight)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"weight": np.array([np.nan])}, "weight is NaN"),
        ({"weight": np.array([-1.0])}, "not above 0"),
        ({"target": np.array([np.inf])}, "target is NaN or infinite"),
        ({"n_items": 1}, "item numbers"),
        ({"time": np.array([np.nan])}, "time is missing, infinite"),
        ({"time": np.array(["NaT"], "datetime64[s]")}, "time is missing, infinite"),
        ({"time": np.array(["noon"])}, "time is missing, infinite or not a number"),
        ({"time": np.array([1.5])}, "whole numbers of milliseconds"),
        ({"time": np.array([1e300])}, "whole numbers of milliseconds"),
    ],
)
def test_bad_values_are_refused(settings, says):
    with pytest.raises(DataError, match=says):
        from_pairs(np.array([0]), np.array([1]), **settings)


@pytest.mark.parametrize(
    ("users", "says"),
    [
        ([-1, 2], r"user numbers must be in 0 \.\. 2147483647: got -1"),
        ([1, 10**10], "got 10000000000; number all ids without gaps"),
        ([1.5, 2], "must be whole numbers"),
        ([np.nan, 2], "must be whole numbers"),
        ([np.inf, 2], "must be whole numbers"),
        (["ada", "bo"], "must be whole numbers"),
    ],
)
def test_invalid_user_numbers_are_refused(users, says):
    with pytest.raises(DataError, match=says):
        from_pairs(users, [0, 1])


def test_whole_floats_and_dates_are_understood():
    dates = np.array(["1970-01-01T00:00:02", "1970-01-01T00:00:01"], "datetime64[s]")
    pairs = from_pairs(np.array([0.0, 1.0]), [3, 2], time=dates)
    assert (pairs.user_ix.tolist(), pairs.time.tolist()) == ([0, 1], [2000, 1000])
    assert len(from_pairs([], [], n_users=1, n_items=1)) == 0
    assert from_pairs(np.array([0, 1], object), [3, 2]).user_ix.tolist() == [0, 1]


def test_other_shapes_are_refused():
    with pytest.raises(ShapeError, match="one item for each user"):
        from_pairs(np.array([0, 1]), np.array([0]))
    with pytest.raises(ShapeError, match=r"scipy\.sparse"):
        as_interactions(np.eye(2))


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", ["weight", "target", "time"])
def test_another_number_of_values_than_pairs_is_refused(name, size):
    with pytest.raises(ShapeError, match=f"one {name} for each pair"):
        from_pairs(np.array([0, 1]), np.array([0, 1]), **{name: np.ones(size)})


def test_a_sparse_matrix_adds_its_duplicates_up():
    matrix = sparse.coo_array((np.array([2.0, 3.0]), ([0, 0], [1, 1])), shape=(1, 2))
    assert as_interactions(matrix).weight.tolist() == [5.0]
