"""Weighted sums of rows: the kernels beside their twins."""

import numpy as np
import pytest
from scipy import sparse

from core.kernels import rows as kernels
from tests.core import reference_rows as reference


@pytest.mark.parametrize("h", [0, 1, 3, 4, 5, 8, 11])
def test_sums_are_those_of_the_twins(h):
    rng = np.random.default_rng(h)
    value = rng.normal(size=(12, 37)).astype(np.float32)
    value[rng.random(value.shape) < 0.5] = 0.0
    items = rng.permutation(12)[:h].astype(np.int32)
    amount = rng.normal(size=h).astype(np.float32)
    given = rng.normal(size=37).astype(np.float32)
    expected, dense, thin = given.copy(), given.copy(), given.copy()
    reference.add_rows(items, amount, value, expected)
    kernels.add_rows(items, amount, value, dense)
    np.testing.assert_allclose(dense, expected, rtol=1e-4, atol=1e-5)
    matrix = sparse.csr_array(value)
    index = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data
    kernels.add_sparse_rows(items, amount, *index, thin)
    np.testing.assert_allclose(thin, expected, rtol=1e-4, atol=1e-5)
    twin = given.copy()
    reference.add_sparse_rows(items, amount, *index, twin)
    np.testing.assert_allclose(twin, expected, rtol=1e-4, atol=1e-5)
