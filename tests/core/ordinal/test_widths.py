"""The widths of the kernel: the slope of their evidence, and features that the target ignores."""

import numpy as np
import pytest

from core.ordinal.random_features import kernel_of
from core.ordinal.widths import PULL, START_WIDTH, Evidence, find_widths


def test_the_slope_of_the_evidence_is_its_difference():
    rng, h = np.random.default_rng(7), 1e-5
    x = rng.random((30, 3))
    target = np.sin(4.0 * x[:, 0]) + 0.1 * rng.normal(size=30)
    evidence = Evidence(x, target - target.mean())
    logs = np.array([0.3, -1.0, -2.0, -1.5])
    _, slope = evidence(logs)
    for at in range(4):
        step = h * np.eye(4)[at]
        change = evidence(logs + step)[0] - evidence(logs - step)[0]
        assert slope[at] == pytest.approx(change / (2 * h), rel=1e-5)


def test_a_feature_that_the_target_ignores_gets_a_flat_kernel():
    x = np.random.default_rng(7).random((150, 3))
    widths = find_widths(x, np.sin(6.0 * x[:, 0]))
    assert widths[0] > 20 * widths[1:].max()


def test_the_evidence_is_the_profile_likelihood_of_a_gaussian_process():
    rng = np.random.default_rng(3)
    x, target = rng.random((12, 2)), rng.normal(size=12)
    target -= target.mean()
    logs = np.array([0.4, -1.3, -2.0])
    covariance = kernel_of(x, x, np.exp(logs[:2])) + np.exp(logs[2]) * np.eye(12)
    scale = target @ np.linalg.solve(covariance, target) / 12
    expected = 6.0 * np.log(scale) + 0.5 * np.linalg.slogdet(covariance)[1]
    expected += 0.5 * PULL * ((logs[:2] - np.log(START_WIDTH)) ** 2).sum()
    assert Evidence(x, target)(logs)[0] == pytest.approx(expected, rel=1e-9)
