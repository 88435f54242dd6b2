import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import popularity
from core.counters import Counters
from core.kernels.count import RECENT, TIME, TOTAL
from core.meaning import EventMeanings, KindTable
from core.popularity import joined, popular, trending
from tests.core import reference_count

HOUR = 3_600_000
events = st.lists(
    st.tuples(
        st.integers(0, 3), st.sampled_from([0.2, 0.5, 1.0, 2.0]), st.integers(-50 * HOUR, 50 * HOUR)
    ),
    min_size=1,
    max_size=30,
)


def counted(told, counters=None, sign=1.0):
    counters = counters or Counters(10.0 * HOUR)
    item, weight, time_ms = (np.array(column) for column in zip(*told, strict=True))
    counters.add(item, sign * weight, time_ms)
    return counters


@given(events)
def test_rows_are_the_sums_over_all_events(told):
    counters = counted(told)
    for item in {item for item, _, _ in told}:
        own = [(w, t) for number, w, t in told if number == item]
        total, recent, newest = reference_count.count(own, 10.0 * HOUR)
        row = counters.rows[item]
        assert row[TOTAL] == pytest.approx(total)
        assert row[RECENT] == pytest.approx(recent)
        assert row[TIME] == newest


@given(events, st.data())
def test_the_ends_of_batches_change_no_bit(told, data):
    cut = data.draw(st.integers(0, len(told)))
    whole, parts = counted(told), Counters(10.0 * HOUR)
    for part in (told[:cut], told[cut:]):
        if part:
            counted(part, parts)
    assert np.array_equal(whole.rows, parts.rows)


@given(events)
def test_subtracting_all_events_leaves_zeros(told):
    counters = counted(told, counted(told), sign=-1.0)
    assert (counters.rows[:, :TIME] == 0.0).all()


@given(events, st.integers(1, 3))
def test_joined_partitions_equal_one_counter(told, n):
    parts = [counted(told[first::n]).rows for first in range(n) if told[first::n]]
    whole, rows = counted(told).rows, joined(parts, 10.0 * HOUR)
    assert rows == pytest.approx(whole[: len(rows)])


def test_the_trending_order_is_the_same_at_every_moment():
    counters = counted([(0, 8.0, 0), (1, 1.0, 20 * HOUR), (2, 1.5, 20 * HOUR)])
    items, score = trending(counters.rows, 10.0 * HOUR)
    # the evidence of item 0 has halved twice
    assert items.tolist() == [0, 2, 1]
    assert score.tolist() == [2.0, 1.5, 1.0]
    later, _ = trending(counted([(3, 1.0, 10_000 * HOUR)], counters).rows, 10.0 * HOUR)
    assert later.tolist() == [3, 0, 2, 1]


def test_popular_items_come_by_evidence_and_then_by_number():
    counters = counted([(3, 1.0, 0), (1, 1.0, 9), (2, 2.0, 5)])
    assert popular(counters.rows)[0].tolist() == [2, 1, 3]
    assert popular(Counters(1.0).rows)[0].size == 0


def test_only_positives_are_evidence():
    meanings = EventMeanings(
        KindTable.of([(5, 2.0, 1, True), (4, 1.0, -1, True), (6, 0.0, 0, False)])
    )
    kind = np.array([0, 0, 5, 4, 6], np.uint8)
    value = np.array([4, 3, 0, 0, 0], np.float32)
    assert meanings.evidence(kind, value).tolist() == [1.0, 0.0, 2.0, 0.0, 0.0]


def test_the_kernel_counts_in_the_columns_that_the_orders_read():
    columns = popularity.TOTAL, popularity.RECENT, popularity.TIME
    assert columns == (TOTAL, RECENT, TIME) == tuple(range(popularity.WIDTH))
