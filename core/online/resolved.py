"""The Resolved experts as a group; the arithmetic is in ``core/kernels/biased.py``.

This group alone fills the users' rings.
"""

from collections.abc import Sequence

import numpy as np

from core.kernels import biased as kernels
from core.online.biased import step_settings
from core.online.experts import Resolved
from core.online.group import COORDINATES, Place
from core.online.tables import RECENT, Batch, ItemTable, Side, UserTable
from core.rng import symmetric_noise
from core.types import F32, F64, U64


class ResolvedGroup:
    """Resolved experts: bias, factors, their accumulators, ratings seen, count of the next solution."""

    def __init__(self, experts: Sequence[Resolved], *, first_number: int, seed: int) -> None:
        self.size = len(experts)
        self.state: dict[str, F64] = {}
        self._experts = tuple(experts)
        self._first_number, self._seed = first_number, seed
        self._rank = np.array([expert.rank for expert in experts], dtype=np.int64)
        widths = 2 * (self._rank + 1) + 2
        self.width = int(widths.sum())
        self._offset = np.cumsum(widths) - widths
        self._settings = np.array(
            [[*step_settings(expert), expert.reg, expert.growth] for expert in experts]
        )
        largest = int(self._rank.max())
        self._gain = np.zeros((2, largest), dtype=np.float32)
        # one cache line more than the ring: rows that lie a power of two apart push each other out
        self._x = np.zeros((largest + 3, RECENT + 32), dtype=np.float32)
        self._gram = np.zeros((largest + 3, largest + 3), dtype=np.float32)
        self._solution = np.zeros(largest + 1, dtype=np.float32)

    def start(self, side: Side, id_hashes: U64, first_column: int, rows: F32) -> None:
        rows[:, first_column : first_column + self.width] = 0.0
        for number, expert in enumerate(self._experts, self._first_number):
            at = first_column + int(self._offset[number - self._first_number]) + 1
            first = number * COORDINATES
            z = symmetric_noise(self._seed, side, id_hashes, first=first, count=expert.rank)
            rows[:, at : at + expert.rank] = expert.noise * np.sqrt(3.0) * z

    def learn(
        self, batch: Batch, users: UserTable, items: ItemTable, first_column: int, predictions: F64
    ) -> None:
        kernels.resolved(
            users.rows,
            items.rows,
            users.recent_item,
            users.recent_rating,
            users.recent_count,
            batch.user_ix,
            batch.item_ix,
            batch.rating,
            batch.mean,
            self._offset + first_column,
            self._rank,
            self._settings,
            self._gain,
            self._x,
            self._gram,
            self._solution,
            predictions,
        )

    def predict(
        self, user_rows: F32, item_rows: F32, mean: float, first_column: int, predictions: F64
    ) -> None:
        first = self._offset + first_column
        kernels.biased_predict(user_rows, item_rows, mean, first, self._rank, predictions)

    def places(self, first_column: int) -> list[Place]:
        first = (self._offset + first_column).tolist()
        return [
            Place(at, at + 1, rank) for at, rank in zip(first, self._rank.tolist(), strict=True)
        ]
