"""Full-covariance experts against their naive twin, and the filter that they approximate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from core.online.experts import Kalman
from core.online.kalman import KalmanGroup
from core.online.tables import Batch, ItemTable, Side, UserTable
from core.rng import id_hashes
from tests.core import reference_default as reference

FIRST = 5


def recipe(rank=5, **given_):
    settings = {
        "bias_variance": 0.74,
        "factor_variance": 0.2,
        "noise_variance": 0.59,
        "clip_sigmas": 1.5,
    }
    return Kalman(rank=rank, **(settings | given_))


def rows(group, side, n):
    table = np.zeros((n, FIRST + group.width), dtype=np.float32)
    group.start(side, id_hashes([str(number) for number in range(n)]), FIRST, table)
    return table


def tables(group, users=4, items=3):
    nothing = np.zeros((users, 1), np.int32), np.zeros((users, 1), np.float32)
    ring = (*nothing, np.zeros(users, np.int64))
    return UserTable(rows(group, Side.USER, users), *ring), ItemTable(rows(group, Side.ITEM, items))


def events(n=40, users=4, items=3, seed=0):
    rng = np.random.default_rng(seed)
    return Batch(
        user_ix=rng.integers(0, users, n),
        item_ix=rng.integers(0, items, n),
        rating=rng.integers(2, 11, n) / 2.0,
        sequence=np.arange(n),
        mean=rng.uniform(3.0, 4.0, n),
    )


@given(
    ranks=st.lists(st.integers(0, 9), min_size=1, max_size=3),
    sigmas=st.sampled_from([0.3, 1.5, 10.0]),
    seed=st.integers(0, 99),
)
def test_full_covariance_experts_agree_with_the_naive_twin(ranks, sigmas, seed):
    group = KalmanGroup(
        [recipe(rank, clip_sigmas=sigmas) for rank in ranks], first_number=0, seed=1
    )
    users, items = tables(group)
    slow_users, slow_items = users.rows.astype(np.float64), items.rows.astype(np.float64)
    batch = events(seed=seed)
    predictions = np.empty((40, group.size))
    group.learn(batch, users, items, FIRST, predictions)
    k = np.array(ranks)
    width = k + 1 + (k + 1) * (k + 2) // 2
    first = FIRST + np.cumsum(width) - width
    settings = np.tile([0.59, sigmas], (k.size, 1))
    wanted = np.empty_like(predictions)
    learned = batch.user_ix, batch.item_ix, batch.rating, batch.mean
    reference.kalman(slow_users, slow_items, *learned, first, k, settings, None, wanted)
    np.testing.assert_allclose(predictions, wanted, atol=1e-4)
    np.testing.assert_allclose(users.rows, slow_users, atol=1e-4)
    np.testing.assert_allclose(items.rows, slow_items, atol=1e-4)
    frozen, twin = np.empty((3, k.size)), np.empty((3, k.size))
    group.predict(users.rows[:3], items.rows, 3.5, FIRST, frozen)
    reference.kalman_predict(users.rows[:3], items.rows, 3.5, first, k, twin)
    np.testing.assert_allclose(frozen, twin, rtol=1e-5)


def test_against_known_items_the_user_side_is_exact_bayesian_regression():
    """Items without uncertainty: the posterior mean and covariance of ridge regression."""
    group = KalmanGroup([recipe(3, clip_sigmas=1e6)], first_number=0, seed=1)
    users, items = tables(group, users=1, items=30)
    rng = np.random.default_rng(3)
    items.rows[:, FIRST + 1 : FIRST + 4] = rng.normal(size=(30, 3))
    items.rows[:, FIRST + 4 :] = 0.0
    users.rows[0, FIRST : FIRST + 4] = 0.0
    x = np.column_stack([np.ones(30), items.rows[:, FIRST + 1 : FIRST + 4]])
    rating = 3.5 + x @ [0.4, -0.3, 0.2, 0.1] + 0.1 * rng.normal(size=30)
    batch = Batch(np.zeros(30, np.int64), np.arange(30), rating, np.arange(30), np.full(30, 3.5))
    group.learn(batch, users, items, FIRST, np.empty((30, 1)))
    prior = np.diag(1.0 / np.array([0.74, 0.2, 0.2, 0.2]))
    posterior = np.linalg.inv(prior + x.T @ x / 0.59)
    mean = posterior @ x.T @ (rating - 3.5) / 0.59
    np.testing.assert_allclose(users.rows[0, FIRST : FIRST + 4], mean, atol=1e-4)
    triangle = posterior[np.tril_indices(4)]
    np.testing.assert_allclose(users.rows[0, FIRST + 4 :], triangle, atol=1e-4)


def test_covariances_stay_positive_definite_over_many_ratings():
    group = KalmanGroup([recipe(5)], first_number=0, seed=1)
    users, items = tables(group)
    batch = events(n=20_000)
    group.learn(batch, users, items, FIRST, np.empty((20_000, 1)))
    lower = np.tril_indices(6)
    for row in (*users.rows, *items.rows):
        covariance = np.zeros((6, 6))
        covariance[lower] = row[FIRST + 6 :]
        covariance += np.tril(covariance, -1).T
        assert np.linalg.eigvalsh(covariance).min() > 0.0


def test_a_bias_alone_starts_with_its_variance():
    group = KalmanGroup([recipe(0, bias_variance=0.5)], first_number=0, seed=1)
    assert group.width == 2
    np.testing.assert_array_equal(rows(group, Side.USER, 1)[0, FIRST:], [0.0, 0.5])


@pytest.mark.parametrize(
    "wrong",
    [
        {"rank": -1},
        {"bias_variance": 0.0},
        {"factor_variance": 0.0},
        {"noise_variance": float("nan")},
        {"clip_sigmas": 0.0},
        {"user_noise": -1.0},
    ],
)
def test_a_recipe_that_cannot_learn_is_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        recipe(**wrong)
