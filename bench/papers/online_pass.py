"""One pass of an online model over a stream of ratings, then a test with everything frozen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from bench.data import Ratings
from bench.papers import online_kernels
from core.online.config import OnlineConfig
from core.online.experts import PassiveAggressive
from core.online.nn_apa import FullMatrixGroup, PassiveAggressiveGroup
from core.online.tables import Batch, ItemTable, Side, UserTable
from core.rng import id_hashes
from core.scale import Scale
from core.types import F32, F64, I64

HEDGE_BETA = 0.999
"""Hedge's decay per unit of loss on ratings of 1..5; the paper states none."""
QUARTER = 0.25
"""Our kernel counts a quarter of the absolute error as the loss."""


@dataclass(frozen=True, eq=False)
class Stream:
    """A training stream and a test part, with ratings on 1..5; errors are on the own scale."""

    train: Ratings
    test: Ratings
    seed: int

    @property
    def scale(self) -> Scale:
        return Scale(self.train.low, self.train.high)

    @property
    def unit(self) -> float:
        """Size of a step of 1..5 on the own scale."""
        return (self.train.high - self.train.low) / 4.0

    def first(self, n: int) -> "Stream":
        """Return the stream with its first n ratings only."""
        return Stream(self.train.rows(np.arange(min(n, len(self.train)))), self.test, self.seed)

    def start(self, rank: int) -> tuple[F64, F64]:
        """Return user and item vectors that begin as in the paper, U[0, 1)."""
        rng = np.random.default_rng([self.seed, rank])
        return rng.random((len(self.train.user_ids), rank)), rng.random(
            (len(self.train.item_ids), rank)
        )


@dataclass(frozen=True, eq=False)
class Passed:
    """What a pass predicted: online (n, experts), and of the test part (m, experts)."""

    stream: Stream
    online: F64
    tested: F64
    seconds: float
    items: F64 | F32
    """Rows of the items: their vectors, expert by expert, and what else the method keeps."""

    def train_mae(self) -> F64:
        """Return each expert's error while learning; infinite if it diverged."""
        return self._mae(self.online, self.stream.train)

    def late_mae(self) -> F64:
        """Return each expert's error in the last quarter of the stream; infinite if it diverged."""
        train = self.stream.train
        last = np.arange(len(train) * 3 // 4, len(train))
        return self._mae(self.online[last], train.rows(last))

    def test_mae(self) -> F64:
        """Return each expert's error after learning."""
        return self._mae(self.tested, self.stream.test)

    def mixed(self, weights: F64, after: F64) -> "Passed":
        """Return the pass of the weighted mean of the experts.

        ``weights`` (n, experts) are those before each rating, ``after`` (experts,) the last.
        """
        online = (self.online * weights).sum(axis=1, keepdims=True)
        tested = (self.tested * after).sum(axis=1, keepdims=True)
        return replace(self, online=online, tested=tested)

    def uniform(self) -> "Passed":
        """Return the pass of the plain mean of the experts, NN-APA(u)."""
        equal = np.full(self.online.shape[1], 1.0 / self.online.shape[1])
        return self.mixed(equal, equal)

    def hedged(self, beta: float = HEDGE_BETA) -> "Passed":
        """Return the pass of the experts weighted by all their losses, NN-APA(m)."""
        inside = self.stream.scale.inside(self.stream.train.rating)
        loss = np.abs(self.online - inside[:, None])
        log_weights = np.log(beta) * np.vstack([np.zeros(loss.shape[1]), loss.cumsum(axis=0)])
        weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        return self.mixed(weights[:-1], weights[-1])

    def cumulative(self) -> F64:
        """Return the mean error of the first expert over all ratings so far."""
        inside = self.stream.scale.inside(self.stream.train.rating)
        error = np.abs(self.online[:, 0] - inside)
        return self.stream.unit * error.cumsum() / np.arange(1, error.size + 1)

    def _mae(self, said: F64, actual: Ratings) -> F64:
        inside = self.stream.scale.inside(actual.rating)
        with np.errstate(all="ignore"):  # long steps diverge
            error = self.stream.unit * np.abs(said - inside[:, None]).mean(axis=0)
        return np.nan_to_num(error, nan=np.inf)


def learned(
    stream: Stream, experts: Sequence[PassiveAggressive], rho: float | None = None
) -> Passed:
    """Let experts of one metric learn the stream, side by side.

    ``rho``: NN-APA(m)'s least chance of an update; None: all experts learn from every rating.
    """
    config = OnlineConfig(
        experts=tuple(experts),
        aggregator="hedge",
        seed=stream.seed,
        beta=HEDGE_BETA ** (1.0 / QUARTER),
        rho=rho,
        clip=False,
    )
    kind = FullMatrixGroup if experts[0].metric == "full" else PassiveAggressiveGroup
    group = kind(experts, first_number=0, config=config)
    train, test = stream.train, stream.test
    users, items = (np.zeros((len(ids), group.width), np.float32) for ids in _ids(train))
    for side, rows, ids in zip(Side, (users, items), _ids(train), strict=True):
        group.start(side, id_hashes(ids), 0, rows)
    inside = stream.scale.inside(train.rating)
    batch = Batch(train.user, train.item, inside, np.arange(1, len(train) + 1), inside)
    recent = np.zeros((1, 1), np.int32)
    table = UserTable(users, recent, recent.astype(np.float32), np.zeros(1, np.int64))
    online, tested = np.empty((len(train), len(experts))), np.empty((len(test), len(experts)))
    began = perf_counter()
    group.learn(batch, table, ItemTable(items), 0, online)
    seconds = perf_counter() - began
    group.predict(users[test.user], items[test.item], 0.0, 0, tested)
    return Passed(stream, online, tested, seconds, items)


def _ids(ratings: Ratings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return ratings.user_ids, ratings.item_ids


def multi_task(stream: Stream, rank: int, rate: float, coupling: float) -> Passed:
    """Let OMTCF, built from its description, learn the stream."""
    own, items = stream.start(rank)
    shared, online = np.zeros(rank), np.empty(len(stream.train))
    began = perf_counter()
    online_kernels.multi_task(own, shared, items, *_columns(stream), rate, coupling, online)
    seconds = perf_counter() - began
    return _of(stream, np.maximum(own + shared, 0.0), items, online, seconds)


def unconstrained(stream: Stream, rank: int, c: float, delta: float) -> Passed:
    """Let APA without the non-negative constraint learn the stream."""
    users, items = stream.start(rank)
    online = np.empty(len(stream.train))
    began = perf_counter()
    squares = np.zeros_like(users), np.zeros_like(items)
    online_kernels.unconstrained(users, items, *squares, *_columns(stream), c, delta, online)
    return _of(stream, users, items, online, perf_counter() - began)


def sampled_losses(stream: Stream, experts: Sequence[PassiveAggressive], rho: float) -> Passed:
    """Let NN-APA(m) learn with the losses of the drawn experts alone, as it is printed."""
    first = np.concatenate([[0], np.cumsum([one.rank for one in experts])]).astype(np.int64)
    users, items = stream.start(int(first[-1]))
    online, log_weights = np.empty(len(stream.train)), np.zeros(len(experts))
    draws = np.random.default_rng([stream.seed, 1]).random((len(stream.train), len(experts)))
    began = perf_counter()
    online_kernels.sampled_losses(
        users,
        items,
        np.zeros_like(users),
        np.zeros_like(items),
        first,
        np.array([one.c for one in experts]),
        experts[0].delta,
        *_columns(stream),
        draws,
        float(np.log(HEDGE_BETA)),
        rho,
        log_weights,
        online,
    )
    seconds = perf_counter() - began
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    test = stream.test
    tested = np.zeros(len(test))
    for weight, a, b in zip(weights, first[:-1], first[1:], strict=True):
        tested += weight * np.einsum("ij,ij->i", users[test.user, a:b], items[test.item, a:b])
    return Passed(stream, online[:, None], tested[:, None], seconds, items)


def _columns(stream: Stream) -> tuple[I64, I64, F64]:
    train = stream.train
    return train.user, train.item, stream.scale.inside(train.rating)


def _of(stream: Stream, users: F64, items: F64, online: F64, seconds: float) -> Passed:
    test = stream.test
    tested = np.einsum("ij,ij->i", users[test.user], items[test.item])
    return Passed(stream, online[:, None], tested[:, None], seconds, items)
