import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.kernels.merge import merge
from tests.core import reference_merge as reference


@given(
    seed=st.integers(0, 10**6),
    lengths=st.lists(st.integers(0, 60), max_size=4),
    n_items=st.sampled_from([60, 90, 100_000_000]),
    k=st.integers(0, 150),
    depth=st.sampled_from([1, 25, 100]),
    equal=st.booleans(),
)
def test_the_best_of_several_lists_are_those_of_a_full_sort(
    seed, lengths, n_items, k, depth, equal
):
    rng = np.random.default_rng(seed)
    listed = [rng.choice(n_items, n, replace=False) for n in lengths]
    weight = np.full(len(lengths), 0.5) if equal else rng.random(len(lengths))
    joined = np.concatenate([np.empty(0, np.int32), *listed]).astype(np.int32)
    given = joined, np.array(lengths, np.int64), weight, depth, 20.0
    expected, found = made(k), made(k)
    size = reference.merge(*given, *expected)
    assert merge(*given, *found) == size
    for ours, theirs in zip(found, expected, strict=True):
        assert np.array_equal(ours[:size], theirs[:size])


def made(k):
    return np.empty(k, np.int32), np.empty(k, np.float32), np.empty(k, np.int64)
