import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.window import window
from tests.core import reference_window

STEP = st.tuples(st.lists(st.integers(0, 12), max_size=6), st.integers(0, 20), st.integers(-5, 15))


@settings(max_examples=200)
@given(size=st.integers(1, 6), same_home=st.booleans(), steps=st.lists(STEP, max_size=12))
def test_the_window_is_a_set_of_the_newest_digests(size, same_home, steps):
    ring, ring_ms = np.zeros((size, 2), dtype=np.uint64), np.zeros(size, dtype=np.int64)
    table = np.full(1 << (2 * size - 1).bit_length(), -1, dtype=np.int32)
    ends = np.zeros(2, dtype=np.int64)
    kept = []
    for numbers, now_ms, oldest_ms in steps:
        # with one home for all every search is a walk and every removal moves its successors
        digests = [(0 if same_home else number, number) for number in numbers]
        repeated = np.zeros(len(digests), dtype=np.uint8)
        packed = np.array(digests, dtype=np.uint64).reshape(-1, 2)
        window(packed, now_ms, oldest_ms, ring, ring_ms, table, ends, repeated)
        expected, kept = reference_window.window(kept, digests, now_ms, oldest_ms, size)
        assert repeated.tolist() == expected
        assert ends[1] == len(kept)
        assert (table >= 0).sum() == len(kept)
