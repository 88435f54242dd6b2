"""Lists of several rankers, combined by weight."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.mixture import combine
from core.mixture_weights import DEPTH

permutations = st.lists(st.integers(0, 300), min_size=1, max_size=150, unique=True)


def listed(items):
    return np.array(items, np.int32), np.linspace(1, 0, len(items)).astype(np.float32)


@given(permutations)
def test_a_single_list_is_not_changed(items):
    combined, score = combine([listed(items)], [1.0])
    assert combined.tolist() == items[:DEPTH]
    assert (np.diff(score) < 0).all()


@given(permutations, permutations)
def test_a_ranker_without_weight_does_not_count(mine, others):
    combined, score = combine([listed(mine), listed(others)], [1.0, 0.0])
    assert combined[score > 0].tolist() == mine[:DEPTH]


@given(permutations, permutations)
def test_with_equal_weights_the_order_of_the_rankers_does_not_matter(a, b):
    one, other = (
        combine([listed(a), listed(b)], [0.5, 0.5]),
        combine([listed(b), listed(a)], [0.5, 0.5]),
    )
    assert one[0].tolist() == other[0].tolist()


def test_agreement_beats_a_single_first_place():
    a, b = listed([1, 2, 3]), listed([4, 2, 5])
    assert combine([a, b], [0.5, 0.5])[0][0] == 2


def test_no_lists_combine_to_an_empty_list():
    assert combine([], [])[0].size == 0
    assert combine([listed([])], [1.0])[0].size == 0
