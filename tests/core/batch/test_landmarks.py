import numpy as np

from core.batch.feature_map import MOST_DENSE
from core.batch.landmarks import first_settings, landmark_axes, with_more
from core.search.search import Axis

SIZES = (0, 400, 1_000)
WEIGHT = Axis("weight", 0.01, 1.0, log=True)


def test_the_axis_offers_the_sizes_that_a_quarter_of_the_points_can_carry():
    assert landmark_axes((1_000, 5), SIZES) == []
    assert landmark_axes((1_600, 5), SIZES) == [Axis("landmarks", 1, 2, multiple=1)]
    assert landmark_axes((4_000, 5), SIZES) == [Axis("landmarks", 1, 3, multiple=1)]


def test_wide_features_of_many_points_get_no_dense_ones_beside_them():
    n_points = 10_000
    assert landmark_axes((n_points, MOST_DENSE // n_points), SIZES) == []


def test_more_landmarks_are_the_next_size_until_there_is_none():
    larger = with_more([WEIGHT, Axis("landmarks", 1, 2, multiple=1)])
    assert larger({"weight": 0.1, "landmarks": 1}) == {"weight": 0.1, "landmarks": 2}
    assert larger({"weight": 0.1, "landmarks": 2}) is None
    assert with_more([WEIGHT])({"weight": 0.1}) is None


def test_a_search_begins_in_the_middle_without_landmarks_and_then_tries_few():
    axes = [WEIGHT, Axis("landmarks", 1, 3, multiple=1)]
    first, *others = first_settings(axes, {"weight": 0.1}, np.random.default_rng(0))
    assert first == {"weight": 0.1, "landmarks": 1}
    assert len(others) == 2 * len(axes)
    assert [one["landmarks"] for one in others] == [1, 2, 1, 2]
    assert all(WEIGHT.low < one["weight"] < WEIGHT.high for one in others)
