"""What the places of items tell of their vectors in another model."""

import numpy as np
import pytest

from core.batch.item_prior import FEWEST_A_FACTOR, SURE, item_prior

ALL = np.ones(200, np.bool_)


def spaces(noise: float, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Return places (n, 3), and vectors (n, 4) that they tell but for noise."""
    rng = np.random.default_rng(0)
    places = rng.normal(size=(n, 3)).astype(np.float32)
    vectors = places @ rng.normal(size=(3, 4)) + 0.5 + noise * rng.normal(size=(n, 4))
    return places, vectors.astype(np.float32)


def test_places_are_turned_into_the_space_of_the_model() -> None:
    places, vectors = spaces(0.0)
    prior = item_prior(vectors[:150], ALL[:150], places, np.arange(150, 200))
    np.testing.assert_allclose(prior.vectors, vectors[150:], atol=1e-4)
    assert prior.told == pytest.approx(SURE)


def test_the_share_told_is_that_of_other_items() -> None:
    shares = []
    for noise in (0.3, 1.0, 3.0):
        places, vectors = spaces(noise)
        prior = item_prior(vectors[:150], ALL[:150], places, np.arange(150, 200))
        missed = np.square(vectors[150:] - prior.vectors).sum()
        assert prior.told[0] == pytest.approx(1 - missed / np.square(vectors[150:]).sum(), abs=0.15)
        shares.append(prior.told[0])
    assert shares == sorted(shares, reverse=True)


def test_nothing_is_expected_of_items_without_a_place() -> None:
    places, vectors = spaces(0.1)
    places[160] = 0.0
    prior = item_prior(vectors[:150], ALL[:150], places, np.array([155, 160, 250], np.int32))
    assert prior.told[0] > 0.0
    assert prior.told[1:].tolist() == [0.0, 0.0]
    assert not prior.vectors[1:].any()


def test_items_that_were_not_learned_teach_nothing() -> None:
    places, vectors = spaces(0.0)
    learned = np.arange(150) < 100
    vectors[100:150] = 1e-9
    prior = item_prior(vectors[:150], learned, places, np.arange(150, 200))
    np.testing.assert_allclose(prior.vectors, vectors[150:], atol=1e-4)


def test_few_items_tell_nothing() -> None:
    places, vectors = spaces(0.1)
    n = FEWEST_A_FACTOR * 4 - 1
    new = np.arange(150, 160)
    assert not item_prior(vectors[:n], ALL[:n], places, new).told.any()
    assert item_prior(vectors[: n + 1], ALL[: n + 1], places, new).told.all()
    nobody = np.zeros(150, np.bool_)
    assert not item_prior(vectors[:150], nobody, places, new).told.any()
