"""Orders by evidence: in all, lately, and of several partitions."""

import numpy as np
import pytest

from core.popularity import RECENT, TIME, TOTAL, WIDTH, joined, popular, trending

HOUR = 3_600_000.0


def rows(*evidence):
    """Return rows of (total, recent, hours)."""
    table = np.array(evidence, np.float64).reshape(-1, WIDTH)
    table[:, TIME] *= HOUR
    return table


def test_popular_items_come_by_total_and_then_by_number():
    items, score = popular(rows((1, 1, 0), (3, 0, 0), (0, 0, 0), (3, 9, 0)))
    assert items.tolist() == [1, 3, 0]
    assert score.tolist() == [3.0, 3.0, 1.0]
    assert items.dtype == np.int32
    assert score.dtype == np.float32


def test_trending_items_come_by_what_is_left_of_their_evidence():
    # half is left after 10 hours, a quarter after 20
    items, score = trending(rows((0, 8, 0), (0, 3, 20), (9, 0, 20), (0, 2, 10)), 10.0 * HOUR)
    assert items.tolist() == [1, 0, 3]
    np.testing.assert_allclose(score, [3.0, 2.0, 1.0])


def test_nothing_counted_is_an_empty_order():
    for empty in (rows(), rows((0, 0, 0))):
        assert popular(empty)[0].size == 0
        assert trending(empty, HOUR)[0].size == 0
    assert joined([], HOUR).shape == (0, WIDTH)


def test_joined_rows_are_as_of_the_newest_event_of_each_item():
    one, other = rows((4, 2, 0), (1, 1, 5)), rows((2, 1, 10), (0, 0, 0), (5, 4, 1))
    whole = joined([one, other], 10.0 * HOUR)
    np.testing.assert_allclose(whole[:, TOTAL], [6.0, 1.0, 5.0])
    np.testing.assert_allclose(whole[:, RECENT], [2.0, 1.0, 4.0])
    np.testing.assert_allclose(whole[:, TIME], np.array([10.0, 5.0, 1.0]) * HOUR)
    assert whole == pytest.approx(joined([other, one], 10.0 * HOUR))


def test_an_item_whose_evidence_was_taken_away_has_no_time():
    whole = joined([rows((2, 0, 7)), rows((1, 0, 9))], HOUR)
    np.testing.assert_array_equal(whole, rows((3, 0, 0)))
