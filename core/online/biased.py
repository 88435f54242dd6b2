"""The group of Biased experts; the arithmetic is in ``core/kernels/biased.py``."""

from collections.abc import Sequence

import numpy as np

from core.kernels import biased as kernels
from core.online.experts import Biased, Resolved
from core.online.factor_group import FactorGroup
from core.online.tables import Batch, ItemTable, Side, UserTable
from core.types import F32, F64


def step_settings(expert: Biased | Resolved) -> list[float]:
    """Return one row of the kernels' ``settings``; its gains are a = 2 C for the paper's C."""
    decay, joint = (expert.bias_decay, expert.joint) if isinstance(expert, Biased) else (0.0, False)
    return [
        2.0 * expert.c_bias,
        2.0 * expert.c_factor,
        expert.delta_bias,
        expert.delta_factor,
        expert.eps,
        expert.cap,
        decay,
        float(joint),
    ]


class BiasedGroup(FactorGroup[Biased]):
    """Biased experts: bias, factors and their accumulators, expert by expert."""

    def __init__(self, experts: Sequence[Biased], *, first_number: int, seed: int) -> None:
        super().__init__(experts, first_number=first_number, seed=seed)
        self._settings = np.array([step_settings(expert) for expert in experts])
        self._gain = np.zeros((2, int(self._rank.max())), dtype=np.float32)

    def _noise(self, expert: Biased, side: Side) -> float:
        return expert.noise

    def learn(
        self, batch: Batch, users: UserTable, items: ItemTable, first_column: int, predictions: F64
    ) -> None:
        kernels.biased(
            users.rows,
            items.rows,
            batch.user_ix,
            batch.item_ix,
            batch.rating,
            batch.mean,
            self._offset + first_column,
            self._rank,
            self._settings,
            self._gain,
            predictions,
        )

    def predict(
        self, user_rows: F32, item_rows: F32, mean: float, first_column: int, predictions: F64
    ) -> None:
        first = self._offset + first_column
        kernels.biased_predict(user_rows, item_rows, mean, first, self._rank, predictions)
