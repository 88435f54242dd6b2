"""Common base of experts with a bias and factors: columns in a row and initial values."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np

from core.online.experts import Biased, Kalman, Resolved
from core.online.group import COORDINATES, Place
from core.online.layout import columns
from core.online.tables import Side
from core.rng import symmetric_noise
from core.types import F32, F64, I64, U64

ExpertT = TypeVar("ExpertT", Biased, Resolved, Kalman)


class FactorGroup(ABC, Generic[ExpertT]):
    """Lays out its columns expert by expert: bias, factors, then accumulated values."""

    def __init__(self, experts: Sequence[ExpertT], *, first_number: int, seed: int) -> None:
        self.size = len(experts)
        self.state: dict[str, F64] = {}
        self._experts: tuple[ExpertT, ...] = tuple(experts)
        self._first_number, self._seed = first_number, seed
        self._rank: I64 = np.array([expert.rank for expert in experts], dtype=np.int64)
        widths: I64 = np.array([columns(expert) for expert in experts], dtype=np.int64)
        self.width = int(widths.sum())
        self._offset: I64 = np.cumsum(widths) - widths

    @abstractmethod
    def _noise(self, expert: ExpertT, side: Side) -> float:
        """Return the standard deviation of the initial factors."""

    def start(self, side: Side, id_hashes: U64, first_column: int, rows: F32) -> None:
        rows[:, first_column : first_column + self.width] = 0.0
        for number, expert in enumerate(self._experts):
            at = first_column + int(self._offset[number]) + 1
            first = (self._first_number + number) * COORDINATES
            z = symmetric_noise(self._seed, side, id_hashes, first=first, count=expert.rank)
            rows[:, at : at + expert.rank] = self._noise(expert, side) * np.sqrt(3.0) * z

    def places(self, first_column: int) -> list[Place]:
        first = (self._offset + first_column).tolist()
        return [
            Place(at, at + 1, rank) for at, rank in zip(first, self._rank.tolist(), strict=True)
        ]
