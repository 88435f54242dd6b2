"""The native scale of ratings and the inside scale 1..5."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from core.scale import FIVE_STARS, Scale


@pytest.mark.parametrize(("low", "high"), [(5, 1), (1, 1), (0, float("inf")), (float("nan"), 5)])
def test_a_scale_needs_a_low_below_its_high(low, high):
    with pytest.raises(ConfigError, match="low < high"):
        Scale(low, high)


def test_the_scale_maps_linearly_to_one_to_five_and_back():
    scale = Scale(-10.0, 10.0)
    native = np.array([-10.0, 0.0, 7.5, 10.0])
    np.testing.assert_allclose(scale.inside(native), [1.0, 3.0, 4.5, 5.0])
    np.testing.assert_allclose(scale.native(scale.inside(native)), native)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(0.0, 1.0))
def test_a_rating_within_its_scale_is_within_one_to_five(low, width, share):
    scale = Scale(low, low + width)
    inside = scale.inside(np.array([low + share * width]))
    assert 1.0 - 1e-6 <= inside[0] <= 5.0 + 1e-6
    assert scale.native(inside)[0] == pytest.approx(low + share * width, abs=1e-6 * (1 + width))


def test_five_stars_are_the_inside_scale_and_whole_numbers_are_no_other_scale():
    ratings = np.array([1.0, 2.5, 5.0])
    np.testing.assert_array_equal(FIVE_STARS.inside(ratings), ratings)
    assert repr(Scale(1, 5)) == repr(FIVE_STARS) == "Scale(low=1.0, high=5.0)"
