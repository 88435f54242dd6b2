"""The flags that numba compiles with: what kernels and their callers may rely on."""

import numpy as np

from core.kernels.jit import FASTMATH, kernel, prefetch


@kernel
def mean_of(values):
    total = 0.0
    for value in values:
        total += value
    return total / values.size


@kernel
def count_of_nan(values):
    n = 0
    for value in values:
        if np.isnan(value):
            n += 1
    return n


@kernel
def prefetched_sum(values, order):
    total = 0.0
    for at in range(order.size):
        prefetch(values, order[min(at + 4, order.size - 1)])
        total += values[order[at]]
    return total


def test_nan_and_infinity_keep_their_meaning():
    values = np.array([1.0, np.nan, np.inf, -np.inf, np.nan])
    assert count_of_nan(values) == 2
    assert np.isnan(mean_of(values))
    assert mean_of(np.array([1.0, np.inf])) == np.inf
    assert not FASTMATH & {"nnan", "ninf", "fast", "afn"}


def test_a_division_by_zero_is_no_exception():
    assert np.isnan(mean_of(np.empty(0)))


def test_prefetching_changes_no_result():
    rng = np.random.default_rng(0)
    values, order = rng.integers(0, 99, 1_000).astype(np.float32), rng.permutation(1_000)
    assert prefetched_sum(values, order) == values.sum()
