import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.kernels.latest import latest
from tests.core import reference_latest as reference


@given(
    events=st.lists(st.tuples(st.integers(0, 12), st.sampled_from([0, 5, 6])), max_size=40),
    k=st.integers(0, 15),
)
def test_the_latest_items_are_those_of_a_plain_list(events, k):
    item = np.array([y for y, _ in events], np.int32)
    kind = np.array([code for _, code in events], np.uint8)
    weight = np.zeros(256)
    weight[5] = 0.5
    expected, found = np.empty(k, np.int32), np.empty(k, np.int32)
    size = reference.latest(item, kind, weight, expected)
    assert latest(item, kind, weight, found) == size
    assert np.array_equal(found[:size], expected[:size])
