"""The Gaussian process of a search: what it believes of settings, tried and untried."""

import numpy as np
import pytest

from core.search.surrogate import Surrogate, expected_gain


def test_a_surrogate_goes_through_what_it_saw_and_doubts_elsewhere():
    rng = np.random.default_rng(0)
    points = rng.random((30, 2))
    scores = np.sin(3.0 * points[:, 0]) + points[:, 1]
    surrogate = Surrogate(rng).fit(points, scores)
    mean, spread = surrogate.predict(points)
    assert np.allclose(mean, scores, atol=0.05)
    assert surrogate.predict(np.array([[5.0, 5.0]]))[1][0] > 3.0 * spread.max()


def test_a_surrogate_says_what_a_plain_reading_of_its_shapes_does():
    rng = np.random.default_rng(2)
    known, asked = rng.random((25, 3)), rng.random((40, 3))
    scores = np.sin(5.0 * known[:, 0]) + known[:, 1] ** 2
    surrogate = Surrogate(rng).fit(known, scores)
    values = (scores - scores.mean()) / scores.std()

    def likeness(a, b, lengths):
        d = np.sqrt(5.0) * np.linalg.norm((a[:, None] - b) / lengths, axis=2)
        return (1.0 + d + d**2 / 3.0) * np.exp(-d)

    means, variances = [], []
    for shape in (fit.shape for fit in surrogate._fits):
        covariance = likeness(known, known, shape.lengths) + (shape.noise + 1e-8) * np.eye(25)
        cross = likeness(asked, known, shape.lengths)
        means.append(cross @ np.linalg.solve(covariance, values))
        variances.append(1.0 - (cross * np.linalg.solve(covariance, cross.T).T).sum(axis=1))
    shares = surrogate._shares
    mean = shares @ means
    spread = np.sqrt(shares @ (np.array(variances) + (np.array(means) - mean) ** 2))
    found = surrogate.predict(asked)
    assert np.allclose(found[0], scores.mean() + scores.std() * mean, rtol=1e-7)
    assert np.allclose(found[1], scores.std() * spread, rtol=1e-5)


def test_the_noise_is_that_of_the_scores():
    rng = np.random.default_rng(1)
    points = rng.random((60, 1))
    smooth = np.sin(3.0 * points[:, 0])
    plain = Surrogate(np.random.default_rng(0)).fit(points, smooth).noise
    noisy = Surrogate(np.random.default_rng(0)).fit(points, smooth + 0.1 * rng.normal(size=60))
    assert noisy.noise == pytest.approx(0.1, rel=0.5)
    assert plain < 0.02


def test_the_expected_gain_is_the_mean_of_what_exceeds_the_best():
    rng = np.random.default_rng(0)
    mean, spread, best = np.array([0.0, 1.0, -2.0]), np.array([1.0, 0.3, 0.5]), 0.4
    draws = mean + spread * rng.normal(size=(200_000, 3))
    expected = np.maximum(draws - best, 0.0).mean(axis=0)
    np.testing.assert_allclose(expected_gain(mean, spread, best), expected, atol=3e-3)


def test_a_surrogate_that_was_not_fitted_answers_nothing():
    surrogate = Surrogate(np.random.default_rng(0))
    with pytest.raises(RuntimeError, match="fit first"):
        surrogate.predict(np.zeros((1, 2)))
    with pytest.raises(RuntimeError, match="fit first"):
        _ = surrogate.noise
