"""Evaluation of online models: splits, the predict-then-learn loop, errors and coverage.

Reading files and measuring time belong to the callers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from core.errors import ConfigError
from core.online.model import OnlineModel
from core.online.reports import Predicted
from core.online.tables import ItemTable, RatingRows, Side, UserTable
from core.types import F64, I64, U64

LEARN_CHUNK = 65_536
"""Number of ratings learned between two calls of ``on_chunk``."""
PREDICT_CHUNK = 16_384
"""Number of pairs predicted at a time, which bounds the memory of the gathered rows."""

CLASS_LIMITS = (5, 20, 80)
CLASS_NAMES = ("0-4", "5-19", "20-79", "80+")
"""Names of the classes of users and items by the number of their events so far."""


@dataclass(frozen=True)
class RowSplit:
    """Row numbers of a data set: ``train`` in learning order, and ``test``."""

    train: I64
    test: I64


def random_split(n: int, test_fraction: float, seed: int) -> RowSplit:
    """Return a random split whose test part is ``test_fraction`` of the rows."""
    order = np.random.default_rng(seed).permutation(n).astype(np.int64)
    return _cut(order, test_fraction)


def time_split(timestamp_ms: I64, test_fraction: float) -> RowSplit:
    """Return a split whose test part is the latest ratings; equal times keep their order."""
    return _cut(np.argsort(timestamp_ms, kind="stable").astype(np.int64), test_fraction)


def _cut(order: I64, test_fraction: float) -> RowSplit:
    if not 0.0 < test_fraction < 1.0:
        raise ConfigError(f"the test fraction must be between 0 and 1, not {test_fraction}")
    if order.size < 2:
        raise ConfigError("one rating cannot be split into training and test set: give more")
    n_train = min(max(round(order.size * (1.0 - test_fraction)), 1), order.size - 1)
    return RowSplit(order[:n_train], order[n_train:])


def mae(predicted: F64, rating: F64) -> float:
    """Return the mean absolute error.

    >>> mae(np.array([1.0, 3.0]), np.array([2.0, 3.0]))
    0.5
    """
    return float(np.abs(predicted - rating).mean())


def rmse(predicted: F64, rating: F64) -> float:
    """Return the root of the mean squared error.

    >>> rmse(np.array([1.0, 3.0]), np.array([2.0, 3.0]))
    0.7071067811865476
    """
    return float(np.sqrt(np.square(predicted - rating).mean()))


@dataclass(frozen=True)
class Outputs:
    """Predictions of n ratings on their own scale.

    ``parts`` is (n, experts), or (n, 0) if not requested; the others are (n,).
    """

    rating: F64
    mean: F64
    low: F64
    high: F64
    parts: F64


@dataclass(frozen=True)
class ClassCoverage:
    """Coverage of the 80 % interval among the ratings of one class."""

    user_events: str
    item_events: str
    n: int
    coverage80: float


def covered(low: F64, high: F64, rating: F64) -> float:
    """Return the share of ratings within their interval, bounds included."""
    return float(((low <= rating) & (rating <= high)).mean())


def coverage_by_class(
    outputs: Outputs, rating: F64, user_events: I64, item_events: I64
) -> list[ClassCoverage]:
    """Return the coverage in each class of (events of the user, events of the item) that occurs."""
    inside = (outputs.low <= rating) & (rating <= outputs.high)
    user_class = np.searchsorted(CLASS_LIMITS, user_events, side="right")
    item_class = np.searchsorted(CLASS_LIMITS, item_events, side="right")
    found = []
    for u, user_name in enumerate(CLASS_NAMES):
        for i, item_name in enumerate(CLASS_NAMES):
            chosen = inside[(user_class == u) & (item_class == i)]
            if chosen.size:
                share = float(chosen.mean())
                found.append(ClassCoverage(user_name, item_name, int(chosen.size), share))
    return found


class OnlineRun:
    """One model with tables for a data set whose users and items are numbered."""

    def __init__(
        self,
        model: OnlineModel,
        user_hashes: U64,
        item_hashes: U64,
        *,
        learn_chunk: int = LEARN_CHUNK,
        predict_chunk: int = PREDICT_CHUNK,
    ) -> None:
        self.model = model
        self._learn_chunk, self._predict_chunk = learn_chunk, predict_chunk
        self.users: UserTable = model.user_table(user_hashes.size)
        self.items: ItemTable = model.item_table(item_hashes.size)
        self.users.rows[:] = model.start(Side.USER, user_hashes)
        self.items.rows[:] = model.start(Side.ITEM, item_hashes)
        self._sequence = 0

    def learn(
        self,
        user_ix: I64,
        item_ix: I64,
        rating: F64,
        on_chunk: Callable[[int], None] = lambda done: None,
        *,
        with_parts: bool = False,
    ) -> Outputs:
        """Predict, then learn, each rating in order; return the predictions."""
        said = self._outputs(rating.size, with_parts=with_parts)
        for part in _parts(rating.size, self._learn_chunk):
            sequence = np.arange(self._sequence, self._sequence + part.stop - part.start)
            self._sequence += part.stop - part.start
            ratings = RatingRows(user_ix[part], item_ix[part], rating[part], sequence + 1)
            learned = self.model.learn(self.users, self.items, ratings)
            _put(said, part, learned)
            on_chunk(part.stop)
        return said

    def predict(self, user_ix: I64, item_ix: I64) -> Outputs:
        """Predict n pairs; modify nothing."""
        said = self._outputs(user_ix.size, with_parts=True)
        for part in _parts(user_ix.size, self._predict_chunk):
            users, items = self.users.rows[user_ix[part]], self.items.rows[item_ix[part]]
            _put(said, part, self.model.predict(users, items))
        return said

    def _outputs(self, n: int, *, with_parts: bool) -> Outputs:
        experts = len(self.model.names) if with_parts else 0
        rating, mean, low, high = np.empty((4, n))
        return Outputs(rating, mean, low, high, np.empty((n, experts)))


def _parts(n: int, size: int) -> Iterator[slice]:
    for first in range(0, n, size):
        yield slice(first, min(first + size, n))


def _put(outputs: Outputs, part: slice, said: Predicted) -> None:
    outputs.rating[part], outputs.mean[part] = said.rating, said.mean
    outputs.low[part], outputs.high[part] = said.low, said.high
    if outputs.parts.shape[1]:
        outputs.parts[part] = said.parts
