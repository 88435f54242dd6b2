import numpy as np
import pytest

from core.batch.gram import gram, spectrum
from core.errors import Diverged

RNG = np.random.default_rng(4)
FACTORS = RNG.normal(size=(37, 5)).astype(np.float32)
WEIGHT = RNG.random(37).astype(np.float32)


@pytest.mark.parametrize("cut", [[0, 37], [0, 10, 20, 37], [0, 0, 37, 37]])
@pytest.mark.parametrize("weight", [WEIGHT, np.array([0.5], np.float32)], ids=["each", "all"])
def test_a_gram_matrix_is_the_weighted_sum_whatever_the_threads_take(cut, weight):
    wanted = (FACTORS * np.broadcast_to(weight, 37)[:, None]).T @ FACTORS
    found = gram(FACTORS, weight, np.array(cut, np.int64))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_a_spectrum_makes_the_matrix_again():
    matrix = FACTORS.T @ FACTORS
    values, basis = spectrum(matrix)
    np.testing.assert_allclose((basis * values) @ basis.T, matrix, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(basis.T @ basis, np.eye(5), atol=1e-5)


def test_rounding_below_0_is_0():
    values, _ = spectrum(np.diag([-1e-9, 1.0]))
    assert values.min() == 0.0


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e39])
def test_what_single_precision_does_not_hold_has_diverged(value):
    with pytest.raises(Diverged, match="raise reg"):
        spectrum(np.diag([value, 1.0]))
