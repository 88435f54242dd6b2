"""Both derivatives of every loss."""

import numpy as np
import pytest

from core.batch.losses import LogisticLoss, MixedLoss, SquaredHingeLoss, SquareLoss

SCORES = np.array([-30.0, -2.3, -0.4, 0.01, 0.7, 1.6, 30.0])
LOSSES = {
    "square": SquareLoss(),
    "square to -1": SquareLoss(-1.0),
    "logistic": LogisticLoss(),
    "mirrored logistic": LogisticLoss(sign=-1.0),
    "squared hinge": SquaredHingeLoss(),
    "mixed": MixedLoss(
        np.arange(7) % 2 == 0, LogisticLoss(), SquareLoss(0.0), np.linspace(0.1, 2.0, 7)
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_slope_and_curvature_are_the_derivatives(name):
    loss, h = LOSSES[name], 1e-6
    slope = (loss.value(SCORES + h) - loss.value(SCORES - h)) / (2.0 * h)
    bend = (loss.slope(SCORES + h) - loss.slope(SCORES - h)) / (2.0 * h)
    np.testing.assert_allclose(loss.slope(SCORES), slope, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(loss.curvature(SCORES), bend, rtol=1e-5, atol=1e-7)
    assert (loss.curvature(SCORES) >= 0.0).all()


@pytest.mark.parametrize("name", ["square", "logistic", "squared hinge"])
def test_single_precision_stays_single_and_finite(name):
    scores = np.array([-1e4, 0.0, 1e4], np.float32)
    for array in (getattr(LOSSES[name], what)(scores) for what in ("value", "slope", "curvature")):
        assert array.dtype == np.float32
        assert np.isfinite(array).all()
