"""The interface of a group of experts towards the model that combines them.

Experts are independent given the ratings, so a batch is learned group by group: each group
processes the whole batch in order and writes its predictions into its columns; the aggregator
follows. Sampled updates depend on weights within one group only and stay inside their group.
"""

from typing import NamedTuple, Protocol

from core.online.tables import Batch, ItemTable, Side, UserTable
from core.types import F32, F64, U64

COORDINATES = 1 << 16
"""Spacing of noise coordinates: expert e draws its initial noise from e * COORDINATES on."""


class Place(NamedTuple):
    """Columns of one expert's parameters in a row."""

    bias: int | None
    """Column of the bias; None if the prediction is u.v alone, without the mean."""
    factors: int
    rank: int


class ExpertGroup(Protocol):
    """Experts of one kind, which own ``width`` adjacent columns of every row."""

    width: int
    """Number of this group's columns of a row (factors and accumulators, equal on both sides)."""
    size: int
    """Number of experts, hence of columns of ``predictions``."""
    state: dict[str, F64]
    """Shared arrays besides the rows (may be empty); updated in place, saved with every commit."""

    def start(self, side: Side, id_hashes: U64, first_column: int, rows: F32) -> None:
        """Write initial values of n new rows to ``rows[:, first_column : first_column + width]``.

        rows (n, row width) f32. The values are a pure function of (seed, side, id).
        """

    def learn(
        self, batch: Batch, users: UserTable, items: ItemTable, first_column: int, predictions: F64
    ) -> None:
        """Write each prediction of the batch (made *before* learning) and learn, in order.

        predictions (n, size) f64 on the internal scale, not clipped.
        """

    def predict(
        self, user_rows: F32, item_rows: F32, mean: float, first_column: int, predictions: F64
    ) -> None:
        """Write predictions (n, size) f64 for n pairs of rows; modify nothing else."""

    def places(self, first_column: int) -> list[Place]:
        """Return each expert's columns; its prediction is mean + biases + product of factors."""
