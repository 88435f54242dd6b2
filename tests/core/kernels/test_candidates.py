import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.kernels import candidates as kernels
from tests.core import reference_candidates as reference

ITEMS = st.lists(st.integers(0, 30), max_size=25)


@given(named=ITEMS, latest=ITEMS, excluded=ITEMS, allowed=st.lists(st.booleans(), max_size=30))
def test_candidates_are_those_of_a_plain_set(named, latest, excluded, allowed):
    arguments = (
        np.array(named, np.int32),
        np.array(latest, np.int32),
        np.unique(np.array(excluded, np.int32)),
        np.array(allowed, np.bool_),
    )
    expected, found = (np.empty(len(named) + len(latest), np.int32) for _ in range(2))
    n = reference.gather(*arguments, expected)
    assert kernels.gather(*arguments, found) == n
    assert found[:n].tolist() == expected[:n].tolist()


@given(st.lists(st.floats(-1e6, 1e6, width=32) | st.just(-np.inf) | st.just(np.nan)))
def test_signals_are_those_of_a_plain_formula(score):
    score = np.array(score, np.float32)
    expected, found = (np.empty((score.size, 3), np.float32) for _ in range(2))
    kernels.signals(score, found)
    reference.signals(score, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@given(
    m=st.integers(0, 20), widths=st.lists(st.integers(0, 4), max_size=5), seed=st.integers(0, 99)
)
def test_sums_by_ranker_are_those_of_a_plain_table(m, widths, seed):
    rng, rest = np.random.default_rng(seed), 2
    d = sum(widths) + rest
    signal = (rng.normal(size=(m, d)) * 30).astype(np.float32)
    mean, inverse = rng.normal(size=(2, d)).astype(np.float32)
    weight = rng.normal(size=d)
    first = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])
    made = [(np.empty(m, np.float32), np.empty((m, len(widths)), np.float32)) for _ in range(2)]
    for add_up, out in zip((kernels.add_up, reference.add_up), made, strict=True):
        add_up(signal, mean, inverse, weight, first, *out)
    np.testing.assert_allclose(made[0][0], made[1][0], rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(made[0][1], made[1][1], rtol=1e-4, atol=1e-2)
