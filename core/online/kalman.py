"""The group of Kalman experts; the arithmetic is in ``core/kernels/kalman.py``."""

from collections.abc import Sequence

import numpy as np

from core.kernels import kalman as kernels
from core.online.experts import Kalman
from core.online.factor_group import FactorGroup
from core.online.tables import Batch, ItemTable, Side, UserTable
from core.types import F32, F64, U64


class KalmanGroup(FactorGroup[Kalman]):
    """Kalman experts: bias, factors and the lower triangle of their covariance."""

    def __init__(self, experts: Sequence[Kalman], *, first_number: int, seed: int) -> None:
        super().__init__(experts, first_number=first_number, seed=seed)
        self._settings = np.array([[e.noise_variance, e.clip_sigmas] for e in experts])
        self._work = np.zeros((4, int(self._rank.max()) + 1), dtype=np.float32)

    def _noise(self, expert: Kalman, side: Side) -> float:
        return expert.user_noise if side is Side.USER else expert.item_noise

    def start(self, side: Side, id_hashes: U64, first_column: int, rows: F32) -> None:
        super().start(side, id_hashes, first_column, rows)
        for expert, place in zip(self._experts, self.places(first_column), strict=True):
            diagonal = np.cumsum(np.arange(expert.rank + 1) + 1) - 1 + place.factors + expert.rank
            rows[:, diagonal] = expert.factor_variance
            rows[:, diagonal[0]] = expert.bias_variance

    def learn(
        self, batch: Batch, users: UserTable, items: ItemTable, first_column: int, predictions: F64
    ) -> None:
        kernels.kalman(
            users.rows,
            items.rows,
            batch.user_ix,
            batch.item_ix,
            batch.rating,
            batch.mean,
            self._offset + first_column,
            self._rank,
            self._settings,
            self._work,
            predictions,
        )

    def predict(
        self, user_rows: F32, item_rows: F32, mean: float, first_column: int, predictions: F64
    ) -> None:
        first = self._offset + first_column
        kernels.kalman_predict(user_rows, item_rows, mean, first, self._rank, predictions)
