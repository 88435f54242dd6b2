import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from core.meaning import EventMeanings, KindTable, rating_sign
from core.scale import Scale

READING = EventMeanings(KindTable.of([(1, 0.2, 1, False), (4, 1.0, -1, True), (6, 0.0, 0, False)]))


def signs(ratings: list[float], low: float, high: float) -> list[int]:
    return rating_sign(np.array(ratings, np.float32), Scale(low, high)).tolist()


def test_on_five_stars_four_and_five_are_positive_and_one_and_two_negative() -> None:
    assert signs([1, 2, 3, 4, 5], 1, 5) == [-1, -1, 0, 1, 1]


def test_the_limits_count_as_positive_and_negative_on_any_scale() -> None:
    assert signs([-10, -5, -4.9, 1.9, 2, 10], -10, 10) == [-1, -1, 0, 0, 1, 1]
    assert signs([0, 25, 26, 59, 60, 100], 0, 100) == [-1, -1, 0, 0, 1, 1]
    assert signs([0.1, 0.25, 0.6], 0, 1) == [-1, -1, 1]


@given(position=st.floats(0, 1), low=st.floats(-100, 100), width=st.floats(0.5, 200))
def test_stretching_the_scale_changes_no_sign(position: float, low: float, width: float) -> None:
    near_a_border = min(abs(position - 0.25), abs(position - 0.6)) < 1e-3
    if not near_a_border:
        assert signs([low + position * width], low, low + width) == signs([position], 0, 1)


def test_the_meaning_of_a_kind_does_not_depend_on_its_value() -> None:
    kinds = np.array([1, 4, 6, 0, 199], np.uint8)
    values = np.array([5, 5, 5, 5, 5], np.float32)
    result = READING.meaning(kinds, values)
    assert result.weight.tolist() == [0.2, 1.0, 0.0, 1.0, 0.0]
    assert result.sign.tolist() == [1, -1, 0, 1, 0]
    assert result.hides.tolist() == [False, True, False, True, False]


def test_every_rating_hides_its_item() -> None:
    stars = np.array([1, 3, 5], np.float32)
    assert READING.meaning(np.zeros(3, np.uint8), stars).hides.all()


def test_no_events_have_no_evidence() -> None:
    nothing = READING.meaning(np.empty(0, np.uint8), np.empty(0, np.float32))
    assert (len(nothing.weight), len(nothing.sign), len(nothing.hides)) == (0, 0, 0)


@pytest.mark.parametrize("row", [(0, 1.0, 1, True), (256, 1.0, 1, True), (3, -1.0, 1, True)])
def test_an_impossible_row_is_refused(row: tuple[int, float, int, bool]) -> None:
    with pytest.raises(ConfigError):
        KindTable.of([row])


def test_a_sign_is_minus_one_zero_or_one() -> None:
    with pytest.raises(ConfigError):
        KindTable.of([(3, 1.0, 2, True)])
