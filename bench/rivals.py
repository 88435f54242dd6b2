"""Rivals of the default experts, evaluated on the same rows in the same order.

``river_one_pass`` is river's BiasedMF, an online model like ours. ``mean_and_biases`` is the
offline baseline mean + user bias + item bias, which may read the whole training part repeatedly.
"""

import time
from dataclasses import dataclass

import numpy as np
from river import optim, reco

from bench.data import Ratings
from core.types import F64, I64


@dataclass(frozen=True)
class Score:
    """Errors on the data set's own scale; ``train_mae`` is the online error where there is one."""

    test_mae: float
    test_rmse: float
    train_mae: float = float("nan")
    seconds: float = float("nan")
    note: str = ""


def _score(predicted: F64, actual: F64) -> tuple[float, float]:
    error = predicted - actual
    return float(np.abs(error).mean()), float(np.sqrt((error**2).mean()))


def new_river(seed: int) -> reco.BiasedMF:
    """Return river's model with the settings of its own MovieLens example."""
    return reco.BiasedMF(
        n_factors=10,
        bias_optimizer=optim.SGD(0.025),
        latent_optimizer=optim.SGD(0.05),
        weight_initializer=optim.initializers.Zeros(),
        latent_initializer=optim.initializers.Normal(mu=0.0, sigma=0.1, seed=seed),
        l2_bias=0.0,
        l2_latent=0.0,
    )


def river_stream(
    model: reco.BiasedMF, users: list[int], items: list[int], ratings: list[float]
) -> F64:
    """Predict, then learn, rating by rating; return the predictions."""
    predict, learn = model.predict_one, model.learn_one
    predicted = np.empty(len(ratings))
    for index, (user, item, rating) in enumerate(zip(users, items, ratings, strict=True)):
        predicted[index] = predict(user=user, item=item)
        learn(user=user, item=item, y=rating)
    return predicted


def river_one_pass(train: Ratings, test: Ratings, seed: int) -> Score:
    """Stream ``train`` once, then predict ``test`` with the model frozen.

    Ratings are scaled to 1..5, as in our model: on Jester's -10..10 the steps are too long and end
    in NaN.
    """
    unit = (train.high - train.low) / 4.0
    inside = 1.0 + (train.rating - train.low) / unit
    model = new_river(seed)
    started = time.perf_counter()
    online = river_stream(model, train.user.tolist(), train.item.tolist(), inside.tolist())
    seconds = time.perf_counter() - started
    pairs = zip(test.user.tolist(), test.item.tolist(), strict=True)
    frozen = np.array([model.predict_one(user=user, item=item) for user, item in pairs])
    online, frozen = (
        train.low + (np.clip(part, 1.0, 5.0) - 1.0) * unit for part in (online, frozen)
    )
    train_mae, _ = _score(online, train.rating)
    return Score(*_score(frozen, test.rating), train_mae=train_mae, seconds=seconds)


@dataclass(frozen=True)
class Biases:
    """Predictions of the form mean + user[u] + item[i]."""

    mean: float
    user: F64
    item: F64

    def predict(self, ratings: Ratings) -> F64:
        """Return predictions clipped to the scale; an unknown id has bias 0."""
        raw = self.mean + self.user[ratings.user] + self.item[ratings.item]
        return np.clip(raw, ratings.low, ratings.high)


def fit_biases(train: Ratings, reg_user: float, reg_item: float, sweeps: int = 30) -> Biases:
    """Minimise the regularised squared error by exact alternation.

    The objective is sum (r - mean - b_u - b_i)^2 + reg_user |b_u|^2 + reg_item |b_i|^2.
    """
    centred = train.rating - (mean := float(train.rating.mean()))
    user, item = np.zeros(len(train.user_ids)), np.zeros(len(train.item_ids))
    for _ in range(sweeps):
        before = item
        user = _shrunk_means(train.user, centred - item[train.item], len(user), reg_user)
        item = _shrunk_means(train.item, centred - user[train.user], len(item), reg_item)
        if np.abs(item - before).max() < 1e-6:
            break
    return Biases(mean, user, item)


def _shrunk_means(row: I64, residual: F64, n_rows: int, reg: float) -> F64:
    total = np.bincount(row, residual, n_rows)
    return total / (np.bincount(row, minlength=n_rows) + reg + 1e-12)


_GRID = (0.0, 0.5, 1.0, 2.0, 4.0, 7.0, 12.0, 20.0, 35.0)


def mean_and_biases(train: Ratings, test: Ratings) -> Score:
    """Choose both regularisations on the last tenth of ``train``, then fit all of it."""
    started = time.perf_counter()
    cut = len(train) - len(train) // 10
    user, item = _choose(train.rows(np.arange(cut)), train.rows(np.arange(cut, len(train))))
    predicted = fit_biases(train, user, item).predict(test)
    return Score(
        *_score(predicted, test.rating),
        seconds=time.perf_counter() - started,
        note=f"reg user {user:g}, item {item:g}",
    )


def _choose(fitting: Ratings, checking: Ratings) -> tuple[float, float]:
    def mae(user: float, item: float) -> float:
        return _score(fit_biases(fitting, user, item).predict(checking), checking.rating)[0]

    user = item = 4.0
    for _ in range(2):  # along each axis of the grid in turn: the valley is wide
        item = min(_GRID, key=lambda reg: mae(user, reg))
        user = min(_GRID, key=lambda reg: mae(reg, item))
    return user, item
