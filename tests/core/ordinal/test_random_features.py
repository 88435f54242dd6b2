"""Random features: the kernel that they approximate, and blocks derived from the seed."""

import numpy as np
import pytest

from core.ordinal.random_features import RandomFeatures, kernel_of, waves


def test_features_of_all_blocks_make_the_kernel():
    rng = np.random.default_rng(7)
    x, widths = rng.random((5, 3)), np.array([0.5, 2.0, 0.0])
    features = RandomFeatures(widths, 256, seed=3)
    all_of = waves(x.astype(np.float32), features.all_frequencies(80)) / (80 * 256) ** 0.5
    np.testing.assert_allclose(all_of @ all_of.T, kernel_of(x, x, widths), atol=0.03)
    np.testing.assert_array_equal(features.frequencies(7), features.frequencies(7))
    assert not np.allclose(features.frequencies(7), features.frequencies(8))


def test_the_features_of_a_block_are_cosines_and_sines_of_its_frequencies():
    x = np.random.default_rng(1).random((4, 3), dtype=np.float32)
    features = RandomFeatures(np.array([0.5, 2.0, 0.1]), 6, seed=3)
    angle = x.astype(float) @ features.frequencies(2).astype(float)
    expected = np.concatenate([np.cos(angle), np.sin(angle)], axis=1) / 6**0.5
    np.testing.assert_allclose(features.of(2, x), expected, atol=1e-5)


def test_a_block_depends_on_the_seed_and_its_number_alone():
    widths = np.array([0.5, 2.0])
    one, again, other = (RandomFeatures(widths, 8, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(
        one.all_frequencies(3), np.hstack([again.frequencies(q) for q in (0, 1, 2)])
    )
    assert not np.allclose(one.frequencies(0), other.frequencies(0))


def test_the_kernel_is_the_gaussian_of_weighted_distances():
    rng = np.random.default_rng(2)
    x, y, widths = rng.random((4, 3)), rng.random((5, 3)), np.array([0.5, 2.0, 0.0])
    expected = [[np.exp(-(widths * (a - b) ** 2).sum()) for b in y] for a in x]
    np.testing.assert_allclose(kernel_of(x, y, widths), expected, rtol=1e-12)
    assert kernel_of(x, x, widths).diagonal() == pytest.approx(1.0)
