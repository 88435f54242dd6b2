"""The online model: groups of experts, an aggregator of their predictions, and intervals.

It owns the shared state; the rows belong to the caller (see ``tables.py``). ``learn`` predicts and
learns ratings strictly in order, so the batch size never changes the state; ``predict`` modifies
nothing. Ratings are mapped linearly to 1..5 on input and back on output.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.errors import ShapeError, StateMismatch
from core.kernels import aggregate as kernels
from core.online.aggregators import HedgeWeights, aggregator
from core.online.config import OnlineConfig
from core.online.experts import Resolved
from core.online.group import Place
from core.online.grouping import members
from core.online.interval import Intervals
from core.online.layout import RowLayout
from core.online.reports import ExpertReport, Learned, Predicted, expert_c, family_and_name
from core.online.scores import Scorer
from core.online.tables import (
    FINGERPRINT_COLUMNS,
    RECENT,
    Batch,
    ItemTable,
    RatingRows,
    Side,
    UserTable,
)
from core.scale import HIGHEST, LOWEST
from core.types import F32, F64, U64

Scalar = TypeVar("Scalar", bound=np.generic)


class OnlineModel:
    """Learns ratings one by one with a set of experts; see the module docstring."""

    def __init__(self, config: OnlineConfig) -> None:
        self.config = config
        size = len(config.experts)
        self.names = tuple(family_and_name(e, i)[1] for i, e in enumerate(config.experts))
        self.needs_recent = any(isinstance(e, Resolved) for e in config.experts)
        self.layout = RowLayout.of(config)
        self.width, self.fingerprint = self.layout.width, self.layout.fingerprint
        self._members = list(members(config))
        self._bounds = (LOWEST, HIGHEST) if config.clip else (-np.inf, np.inf)
        self._mean = np.zeros(2)
        self._hedge = HedgeWeights(
            size,
            beta=config.beta,
            share=config.share,
            wanted=config.aggregator == "hedge",
        )
        self._aggregator = aggregator(
            config.aggregator,
            size,
            hedge=self._hedge,
            share=config.share,
            bounds=self._bounds,
        )
        self._intervals = Intervals(*self._bounds)
        self._scorer = Scorer(self._places(), self._bounds)

    def _places(self) -> list[Place]:
        """Return the columns of each expert's parameters, in the order of the set."""
        places: dict[int, Place] = {}
        for member in self._members:
            own = member.group.places(member.first_column)
            places |= dict(zip(member.expert_numbers.tolist(), own, strict=True))
        return [places[expert] for expert in range(len(self.names))]

    # --- rows -------------------------------------------------------------------------------------

    def user_table(self, capacity: int) -> UserTable:
        """Return an empty table; its memory is touched only where rows are written."""
        ring = RECENT if self.needs_recent else 1
        return UserTable(
            rows=np.zeros((capacity, self.width), dtype=np.float32),
            recent_item=np.zeros((capacity, ring), dtype=np.int32),
            recent_rating=np.zeros((capacity, ring), dtype=np.float32),
            recent_count=np.zeros(capacity, dtype=np.int64),
        )

    def item_table(self, capacity: int) -> ItemTable:
        """Return an empty table; its memory is touched only where rows are written."""
        return ItemTable(rows=np.zeros((capacity, self.width), dtype=np.float32))

    def start(self, side: Side, id_hashes: U64) -> F32:
        """Return initial rows (n, width) of ids: a pure function of (config, side, id)."""
        rows = np.zeros((id_hashes.size, self.width), dtype=np.float32)
        rows[:, :FINGERPRINT_COLUMNS] = np.frombuffer(self.fingerprint, dtype=np.float32)
        for member in self._members:
            member.group.start(side, id_hashes, member.first_column, rows)
        return rows

    # --- learn and predict ------------------------------------------------------------------------

    def learn(self, users: UserTable, items: ItemTable, ratings: RatingRows) -> Learned:
        """Predict, then learn, the ratings in order."""
        user_ix, item_ix = _plain(ratings.user_ix, np.int64), _plain(ratings.item_ix, np.int64)
        rating, sequence = _plain(ratings.rating, np.float64), _plain(ratings.sequence, np.int64)
        self._check_batch(users, items, RatingRows(user_ix, item_ix, rating, sequence))
        inside = self.config.scale.inside(rating)
        mean = np.empty(rating.size)
        kernels.running_mean(inside, self._mean, mean)
        batch = Batch(user_ix, item_ix, inside, sequence, mean)
        parts = np.empty((rating.size, len(self.names)))
        for member in self._members:
            own = np.empty((rating.size, member.group.size))
            member.group.learn(batch, users, items, member.first_column, own)
            parts[:, member.expert_numbers] = own
        clipped = np.clip(parts, *self._bounds)
        known = np.empty((rating.size, 5))
        kernels.context(users.rows, items.rows, user_ix, item_ix, inside, clipped, known)
        mixture = self._hedge.follow(clipped, inside)
        out = np.empty((rating.size, 2))
        self._aggregator.learn(clipped, known, inside, mixture, out)
        interval = self._intervals.learn(out[:, 0].copy(), known, inside)
        return Learned(*self._native(out, interval, clipped))

    def predict(self, user_rows: F32, item_rows: F32) -> Predicted:
        """Predict n pairs of rows (n, width); modifies nothing."""
        if user_rows.shape != item_rows.shape or user_rows.shape[1:] != (self.width,):
            raise ShapeError(
                f"rows must be two arrays of equal shape (n, {self.width}), "
                f"not {user_rows.shape} and {item_rows.shape}"
            )
        user_rows, item_rows = _plain(user_rows, np.float32), _plain(item_rows, np.float32)
        n = user_rows.shape[0]
        mean = (3.0 + self._mean[0]) / (1.0 + self._mean[1])
        parts = np.empty((n, len(self.names)))
        for member in self._members:
            own = np.empty((n, member.group.size))
            member.group.predict(user_rows, item_rows, mean, member.first_column, own)
            parts[:, member.expert_numbers] = own
        clipped = np.clip(parts, *self._bounds)
        known = np.empty((n, 5))
        kernels.context_predict(user_rows, item_rows, clipped, known)
        out = np.empty((n, 2))
        self._aggregator.predict(clipped, known, out)
        interval = self._intervals.predict(out[:, 0].copy(), known)
        return Predicted(*self._native(out, interval, clipped))

    def parameters(self, rows: F32) -> F32:
        """Return the columns of rows (n, width) that predictions need: (n, w), no accumulators."""
        return np.take(rows, self._scorer.columns, axis=1)

    def item_part(self, items: F32) -> F32:
        """Return the contribution of items (n, w) to ``scores``, (n,), equal for all users.

        ``items`` come from ``parameters``.
        """
        return self._scorer.item_part(items, self._aggregator.formula())

    def scores(self, user_row: F32, items: F32, item_part: F32 | None = None) -> F32:
        """Return one user's predicted ratings of many items on the internal scale, not clipped.

        Without clipping, items beyond the ends of the scale do not tie; within it, ``predict``
        returns the same. user_row (width,) · items (n, w) from ``parameters`` · item_part (n,), if
        already computed.
        """
        mean = (3.0 + float(self._mean[0])) / (1.0 + float(self._mean[1]))
        user, formula = user_row[self._scorer.columns], self._aggregator.formula()
        part = self._scorer.item_part(items, formula) if item_part is None else item_part
        return self._scorer.scores(user, items, mean, formula, part)

    def _native(self, out: F64, interval: F64, clipped: F64) -> tuple[F64, ...]:
        both, bounds = self._bounded(out), self._bounded(interval)
        return (
            both[:, 0],
            both[:, 1],
            bounds[:, 0],
            bounds[:, 1],
            self._bounded(clipped),
            self._aggregator.parts(),
        )

    def _bounded(self, inside: F64) -> F64:
        """Return values on the ratings' scale.

        The ends of the scale are exact, so that they compare equal to ratings.
        """
        scale = self.config.scale
        native = scale.native(inside)
        return np.clip(native, scale.low, scale.high) if self.config.clip else native

    def _check_batch(self, users: UserTable, items: ItemTable, ratings: RatingRows) -> None:
        """Raise ShapeError for a batch that would make a kernel write out of bounds."""
        user_ix, item_ix, rating = ratings.user_ix, ratings.item_ix, ratings.rating
        if not user_ix.size == item_ix.size == rating.size == ratings.sequence.size:
            raise ShapeError("user_ix, item_ix, rating and sequence must have equal lengths")
        if users.rows.shape[1] != self.width or items.rows.shape[1] != self.width:
            raise ShapeError(f"rows must be {self.width} wide: make the tables with this model")
        for table, ix in ((users.rows, user_ix), (items.rows, item_ix)):
            if ix.size and (ix.min() < 0 or ix.max() >= len(table)):
                raise ShapeError(f"a row number lies outside 0 .. {len(table) - 1}")
        if rating.size and not self._on_scale(rating):
            scale = self.config.scale
            raise ShapeError(f"ratings must be numbers on the scale {scale.low:g}..{scale.high:g}")

    def _on_scale(self, rating: F64 | F32) -> bool:
        """Return whether all ratings are on the scale.

        A single rating off the scale, or NaN, would stay in the rows and the state for ever.
        """
        scale = self.config.scale
        slack = 1e-6 * max(abs(scale.low), abs(scale.high))  # histories store ratings as float32
        return bool(rating.min() >= scale.low - slack and rating.max() <= scale.high + slack)

    # --- state ------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, F64]:
        """Return all shared state as named arrays: views, in a fixed order."""
        state = {"mean": self._mean}
        for member in self._members:
            state |= _named(member.label, member.group.state)
        state |= _named("hedge", self._hedge.state)
        state |= _named(self.config.aggregator, self._aggregator.state)
        return state | _named("interval", self._intervals.state)

    def load(self, arrays: dict[str, F64]) -> None:
        """Copy state that ``arrays`` returned; StateMismatch for another set of experts."""
        mine = self.arrays()
        if mine.keys() != arrays.keys():
            names = sorted(mine.keys() ^ arrays.keys())
            raise StateMismatch(
                f"state of another set of experts, differing in: {', '.join(names)}"
            )
        for name, own in mine.items():
            if own.shape != arrays[name].shape:
                raise StateMismatch(
                    f"state {name} has shape {arrays[name].shape}, "
                    f"this set of experts needs {own.shape}"
                )
        for name, own in mine.items():
            own[...] = arrays[name]

    def experts(self) -> list[ExpertReport]:
        """Return how every expert is doing, in the order of the set."""
        weight, part = self._hedge.weights(), self._aggregator.parts()
        total, recent = self._hedge.loss
        seen = float(self._mean[1])
        recent_events = (1.0 - kernels.KEEP_LOSS**seen) / (1.0 - kernels.KEEP_LOSS)
        updates = self._updates()
        return [
            ExpertReport(
                name=self.names[e],
                family=family_and_name(expert, e)[0],
                rank=expert.rank,
                c=expert_c(expert),
                weight=float(weight[e]),
                part=float(part[e]),
                cumulative_loss=float(total[e]),
                recent_loss=float(recent[e] / max(recent_events, 1.0)),
                updates=int(updates[e]),
                regret_to_best=float(total[e] - total.min()),
            )
            for e, expert in enumerate(self.config.experts)
        ]

    def _updates(self) -> F64:
        """Return the number of ratings each expert has learned."""
        updates = np.full(len(self.names), self._mean[1])
        for member in self._members:
            if "updates" in member.group.state:
                updates[member.expert_numbers] = member.group.state["updates"]
        return updates


def _plain(array: NDArray[Any], dtype: type[Scalar]) -> NDArray[Scalar]:
    """Return a writeable C-ordered array; kernels would be recompiled for any other kind."""
    return np.require(array, dtype, ["C_CONTIGUOUS", "WRITEABLE"])


def _named(label: str, state: dict[str, F64]) -> dict[str, F64]:
    return {f"{label}.{name}": array for name, array in state.items()}
