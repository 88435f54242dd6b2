"""The leading eigenvectors of a matrix that is only multiplied with."""

import numpy as np
import pytest

from core.labels.spectrum import DENSE, leading


@pytest.mark.parametrize("size", [8, DENSE, DENSE + 200])
def test_the_leading_directions_are_those_of_largest_size_whatever_their_sign(size):
    rng = np.random.default_rng(size)
    vectors = np.linalg.qr(rng.normal(size=(size, size)))[0]
    values = rng.choice([-1.0, 1.0], size) * 0.8 ** np.arange(size)
    matrix = ((vectors * values) @ vectors.T).astype(np.float32)
    k = 6
    found, directions = leading(lambda block: matrix @ block, size, k, rng)
    assert np.allclose(found, values[:k], atol=1e-3)
    low_rank = (directions * found) @ directions.T
    assert np.allclose(low_rank, (vectors[:, :k] * values[:k]) @ vectors[:, :k].T, atol=5e-3)


def test_directions_that_a_small_matrix_lacks_are_zero():
    values, vectors = leading(lambda block: 2.0 * block, 3, 5, np.random.default_rng(0))
    assert np.allclose(values, [2, 2, 2, 0, 0])
    assert not vectors[:, 3:].any()
    assert vectors.shape == (3, 5)
