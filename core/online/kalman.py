"""The Kalman experts as a group; the arithmetic is in ``core/kernels/kalman.py``."""

from collections.abc import Sequence

import numpy as np

from core.kernels import kalman as kernels
from core.online.experts import Kalman
from core.online.group import COORDINATES, Place
from core.online.tables import Batch, ItemTable, Side, UserTable
from core.rng import symmetric_noise
from core.types import F32, F64, U64


class KalmanGroup:
    """Kalman experts: bias, factors and the lower triangle of their covariance."""

    def __init__(self, experts: Sequence[Kalman], *, first_number: int, seed: int) -> None:
        self.size = len(experts)
        self.state: dict[str, F64] = {}
        self._experts = tuple(experts)
        self._first_number, self._seed = first_number, seed
        self._rank = np.array([expert.rank for expert in experts], dtype=np.int64)
        sizes = self._rank + 1
        widths = sizes + sizes * (sizes + 1) // 2
        self.width = int(widths.sum())
        self._offset = np.cumsum(widths) - widths
        self._settings = np.array([[e.noise_variance, e.clip_sigmas] for e in experts])
        self._work = np.zeros((4, int(sizes.max())), dtype=np.float32)

    def start(self, side: Side, id_hashes: U64, first_column: int, rows: F32) -> None:
        rows[:, first_column : first_column + self.width] = 0.0
        for number, expert in enumerate(self._experts, self._first_number):
            at = first_column + int(self._offset[number - self._first_number]) + 1
            first = number * COORDINATES
            noise = expert.user_noise if side is Side.USER else expert.item_noise
            z = symmetric_noise(self._seed, side, id_hashes, first=first, count=expert.rank)
            rows[:, at : at + expert.rank] = noise * np.sqrt(3.0) * z
            diagonal = np.cumsum(np.arange(expert.rank + 1) + 1) - 1 + at + expert.rank
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

    def places(self, first_column: int) -> list[Place]:
        first = (self._offset + first_column).tolist()
        return [
            Place(at, at + 1, rank) for at, rank in zip(first, self._rank.tolist(), strict=True)
        ]
