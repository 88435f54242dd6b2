"""The steps of a descent: their size, what they remember, and the losses that are told."""

from dataclasses import replace

import numpy as np
import pytest

from core.batch.contexts.config import DescentConfig
from core.batch.contexts.descent import descend
from core.batch.contexts.dot_models import MatrixFactorisation
from core.batch.weighting import negative_weights, scaled_reg
from core.errors import Diverged
from core.interactions import from_pairs
from tests.core import ranking
from tests.core import reference_batch as reference

USERS, ITEMS, FACTORS = 9, 7, 3
MODEL = MatrixFactorisation(USERS, ITEMS, FACTORS)
CONTEXTS = np.arange(USERS)
PLAIN = DescentConfig(
    optimiser="plain",
    learning_rate=0.01,
    epochs=1,
    alpha0=3.0,
    rho=0.3,
    reg=0.2,
    nu=0.5,
    negative_target=-0.5,
    start=0.8,
)


class Twin:
    """Descends naively: all pairs, float64, one side after the other."""

    def __init__(self, pairs, config, users, items):
        self.config = config
        counts = pairs.user_counts, pairs.item_counts
        self.users, self.items = users.astype(np.float64), items.astype(np.float64)
        self.regs = [scaled_reg(n, config.reg, config.nu, n[n > 0].mean())[:, None] for n in counts]
        self.squares = [np.zeros_like(self.users), np.zeros_like(self.items)]
        negative = negative_weights(pairs.item_counts, config.alpha0, config.rho)
        self.problem = (*reference.dense(pairs), negative.astype(np.float64))
        self.losses = []

    def loss(self):
        penalty = sum(
            (reg * np.square(rows)).sum()
            for reg, rows in zip(self.regs, (self.users, self.items), strict=True)
        )
        below = self.config.negative_target
        return reference.loss(*self.problem, below, self.users, self.items) + penalty

    def epoch(self):
        for side, rows in enumerate((self.users, self.items)):
            self.losses.append(self.loss())
            below = self.config.negative_target
            slopes = reference.exact_gradient(*self.problem, below, self.users, self.items)
            slope = slopes[side] + 2.0 * self.regs[side] * rows
            if self.config.optimiser == "adagrad":
                self.squares[side] += slope**2
                slope = slope / (np.sqrt(self.squares[side]) + self.config.epsilon)
            rows -= self.config.learning_rate * slope


def config_of(optimiser, epochs):
    rate = 0.01 if optimiser == "plain" else 0.1
    return replace(PLAIN, optimiser=optimiser, learning_rate=rate, epochs=epochs)


def twin_of(pairs, config):
    start = MODEL.start(np.random.default_rng(config.seed), config.start / np.sqrt(FACTORS))
    return Twin(pairs, config, start["users"], start["items"])


@pytest.mark.parametrize("optimiser", ["plain", "adagrad"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_descent_is_the_naive_one_over_all_pairs(optimiser, weighted):
    pairs, config = ranking.tiny(weighted=weighted), config_of(optimiser, 4)
    found, twin = descend(MODEL, CONTEXTS, pairs, config), twin_of(pairs, config)
    for _ in range(config.epochs):
        twin.epoch()
    assert np.allclose(found.losses, twin.losses, rtol=1e-4)
    assert np.allclose(found.parameters["users"], twin.users, atol=1e-3)
    assert np.allclose(found.parameters["items"], twin.items, atol=1e-3)


@pytest.mark.parametrize("optimiser", ["plain", "adagrad"])
def test_two_fits_that_follow_each_other_are_one_long_fit(optimiser):
    """The second goes on with the first one's step sizes."""
    pairs = ranking.tiny()
    whole = descend(MODEL, CONTEXTS, pairs, config_of(optimiser, 5))
    half = descend(MODEL, CONTEXTS, pairs, config_of(optimiser, 2))
    kept = {name: values.copy() for name, values in half.parameters.items()}
    rest = descend(MODEL, CONTEXTS, pairs, config_of(optimiser, 3), previous=half)
    for name, values in whole.parameters.items():
        assert np.array_equal(rest.parameters[name], values), name
        assert np.array_equal(rest.squares[name], whole.squares[name]), name
        assert np.array_equal(half.parameters[name], kept[name]), name
    assert half.losses + rest.losses == whole.losses


def test_each_epoch_is_told_with_its_parameters_until_the_listener_has_enough():
    told = []

    def listen(parameters, epoch):
        told.append((epoch, parameters["users"].copy()))
        return epoch == 3

    found = descend(MODEL, CONTEXTS, ranking.tiny(), config_of("plain", 9), on_epoch=listen)
    assert [epoch for epoch, _ in told] == [1, 2, 3]
    assert np.array_equal(told[-1][1], found.parameters["users"])
    assert not np.array_equal(told[0][1], told[1][1])


def test_the_start_is_a_function_of_the_seed():
    first, again, other = (
        descend(MODEL, CONTEXTS, ranking.tiny(), replace(PLAIN, seed=seed)).losses
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_gradients_whose_squares_are_not_finite_are_an_error_with_advice():
    pairs = from_pairs(
        np.array([0, 1]), np.array([0, 1]), n_users=USERS, n_items=ITEMS, weight=np.full(2, 1e25)
    )
    with pytest.raises(Diverged, match="divide the weights"):
        descend(MODEL, CONTEXTS, pairs, config_of("adagrad", 1))
