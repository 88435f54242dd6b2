"""The group of Resolved experts; the arithmetic is in ``core/kernels/biased.py``.

Only this group writes the users' rings.
"""

from collections.abc import Sequence

import numpy as np

from core.kernels import biased as kernels
from core.online.biased import step_settings
from core.online.experts import Resolved
from core.online.factor_group import FactorGroup
from core.online.tables import RECENT, Batch, ItemTable, Side, UserTable
from core.types import F32, F64


class ResolvedGroup(FactorGroup[Resolved]):
    """Resolved experts: bias, factors, accumulators, ratings seen, count of the next solution."""

    def __init__(self, experts: Sequence[Resolved], *, first_number: int, seed: int) -> None:
        super().__init__(experts, first_number=first_number, seed=seed)
        self._settings = np.array(
            [[*step_settings(expert), expert.reg, expert.growth] for expert in experts]
        )
        largest = int(self._rank.max())
        self._gain = np.zeros((2, largest), dtype=np.float32)
        # Without the padding of one cache line, rows would lie a power of two apart and evict each
        # other.
        self._x = np.zeros((largest + 3, RECENT + 32), dtype=np.float32)
        self._gram = np.zeros((largest + 3, largest + 3), dtype=np.float32)
        self._solution = np.zeros(largest + 1, dtype=np.float32)

    def _noise(self, expert: Resolved, side: Side) -> float:
        return expert.noise

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
