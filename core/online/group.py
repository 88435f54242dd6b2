"""What a family of experts offers to the model that combines them.

Experts are independent given the ratings, so a batch is learned group by group: each group goes through the
whole batch in order and leaves its predictions in a column; the aggregator goes through them afterwards.
(Sampled updates depend on the weights of the same family and stay inside their group.)
"""

from typing import NamedTuple, Protocol

from core.online.tables import Batch, ItemTable, Side, UserTable
from core.types import F32, F64, U64

COORDINATES = 1 << 16
"""Expert number e draws its start noise at coordinates e * COORDINATES and on."""


class Place(NamedTuple):
    """Where the parameters of one expert stand in a row."""

    bias: int | None
    """None: its prediction is the product of the factors alone, without the mean."""
    factors: int
    rank: int


class ExpertGroup(Protocol):
    """Experts of one family: they own ``width`` adjacent columns of every row."""

    width: int
    """Columns of a row that belong to this group (factors and accumulators, same on both sides)."""
    size: int
    """How many experts, that is columns of ``predictions``."""
    state: dict[str, F64]
    """Shared arrays besides the rows (may be empty); changed in place, saved with every commit."""

    def start(self, side: Side, id_hashes: U64, first_column: int, rows: F32) -> None:
        """Write the start values of n new rows into ``rows[:, first_column : first_column + width]``.

        rows (n, row width) f32. A pure function of (seed, side, id).
        """

    def learn(
        self, batch: Batch, users: UserTable, items: ItemTable, first_column: int, predictions: F64
    ) -> None:
        """Go through the batch in order: write each prediction (made *before* learning), then learn.

        predictions (n, size) f64 on the inside scale, not clipped.
        """

    def predict(
        self, user_rows: F32, item_rows: F32, mean: float, first_column: int, predictions: F64
    ) -> None:
        """Write predictions (n, size) f64 for n pairs of rows (n, row width); changes nothing else."""

    def places(self, first_column: int) -> list[Place]:
        """Return where each expert's parameters stand; its prediction is mean + biases + product of factors."""
