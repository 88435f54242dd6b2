"""Pairs, their validation, and splits."""

import numpy as np
import pytest
from scipy import sparse

from core import interactions
from core.errors import ConfigError, DataError, ShapeError
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


@pytest.mark.parametrize("name", ["random", "within users", "last", "time"])
def test_a_split_keeps_every_pair_once(name):
    pairs, rng = ranking.tribes(), np.random.default_rng(0)
    fit, held = {
        "random": lambda: interactions.random_split(pairs, 0.2, rng),
        "within users": lambda: interactions.split_within_users(pairs, 0.2, rng),
        "last": lambda: interactions.leave_last_out(pairs),
        "time": lambda: interactions.time_split(pairs, 0.2),
    }[name]()
    assert as_set(fit) | as_set(held) == as_set(pairs)
    assert not as_set(fit) & as_set(held)
    assert 0 < len(held) < 0.3 * len(pairs)
    if name in {"within users", "last"}:
        assert (fit.user_counts[pairs.user_counts > 0] > 0).all()
    if name == "time":
        assert fit.time.max() < held.time.min()


def test_at_least_one_pair_of_a_few_short_histories_is_held_out():
    pairs = from_pairs(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 1]))
    for seed in range(50):
        fit, held = interactions.split_within_users(pairs, 0.1, np.random.default_rng(seed))
        assert len(held) > 0
        assert (fit.user_counts > 0).all()
    single = from_pairs(np.array([0, 1]), np.array([0, 0]))
    assert len(interactions.split_within_users(single, 0.1, np.random.default_rng(0))[1]) == 0


def test_leaving_the_last_out_takes_the_newest():
    pairs = from_pairs(np.array([0, 0, 1]), np.array([5, 4, 3]), time=np.array([10, 20, 5]))
    assert as_set(interactions.leave_last_out(pairs)[1]) == {(0, 4)}


def test_a_split_of_too_few_pairs_is_an_error_with_advice():
    with pytest.raises(ConfigError, match="between 0 and 1"):
        interactions.random_split(ranking.tiny(), 1.0, np.random.default_rng(0))
    with pytest.raises(ConfigError, match="needs times"):
        interactions.time_split(ranking.tiny(), 0.2)
    for n in (0, -1):
        with pytest.raises(ConfigError, match="at least one pair of each user"):
            interactions.leave_last_out(ranking.tribes(), n)
    nothing = ranking.tribes().keep(np.zeros(len(ranking.tribes()), np.bool_))
    with pytest.raises(DataError, match="no pairs to split"):
        interactions.time_split(nothing, 0.2)


def test_a_tilted_split_holds_out_popular_items_more_often_for_tilted_users_alone():
    """Items 0 to 49 are taken by all users, the 5 000 others by few."""
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(1000), 100)
    item = np.concatenate(
        [np.r_[np.arange(50), 50 + rng.permutation(5000)[:50]] for _ in range(1000)]
    )
    pairs = from_pairs(user, item)
    tilt = np.where(np.arange(1000) < 500, 0.3, 0.0)
    _, held = interactions.split_within_users(pairs, 0.2, rng, tilt)
    frequent = held.item_ix < 50
    tilted = held.user_ix < 500
    assert 0.47 < frequent[~tilted].mean() < 0.53
    assert frequent[tilted].mean() > 0.6
    assert (held.user_counts == 20).all()
