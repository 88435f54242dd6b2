"""Predictions of the online model from the current rows; a prediction changes no state.

A user or an item without a row gets its start row.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.online.model import OnlineModel
from core.online.reports import ExpertReport, Predicted
from core.online.tables import Side
from core.rng import id_hashes
from core.types import F32, F64
from service.store.catalogue.numbers import ItemNumbers
from service.store.namespace import Namespace
from service.store.partitions import partition_of
from service.store.profiles.reader import ProfileReader


@dataclass(frozen=True)
class Predictions:
    """n predictions for one user, after everything that was learned up to ``watermark``."""

    predicted: Predicted
    partition: int
    watermark: int


@dataclass(frozen=True)
class ExpertsReport:
    """How the experts of a partition are doing, up to ``watermark``."""

    experts: list[ExpertReport]
    watermark: int


class OnlinePredictions:
    """Answers with the online model of an api process."""

    def __init__(
        self,
        namespace: Namespace,
        model: OnlineModel,
        numbers: ItemNumbers,
        profiles: ProfileReader,
    ) -> None:
        self._partitions = namespace.partitions
        self._model = model
        self._numbers = numbers
        self._profiles = profiles
        self._warm = asyncio.Event()
        self._loaded: dict[str, F64] | None = None
        self.names = model.names
        self.aggregator = model.config.aggregator
        self.version = f"online-{model.fingerprint.hex()}"
        """Changes when the set of experts or their arithmetic does."""

    @property
    def warm(self) -> bool:
        """Whether the kernels are compiled."""
        return self._warm.is_set()

    async def warm_up(self) -> None:
        """Compile the kernels, or load them from numba's cache, in a thread."""
        await asyncio.to_thread(self._predict_once)
        self._warm.set()

    def _predict_once(self) -> None:
        hashes = id_hashes(["warm-up"])
        self._model.predict(
            self._model.start(Side.USER, hashes), self._model.start(Side.ITEM, hashes)
        )

    async def predict(self, user: str, items: Sequence[str]) -> Predictions:
        """Predict what the user would rate each item."""
        await self._warm.wait()
        numbers = await self._numbers.lookup(items)
        read = await self._profiles.rows(user, numbers)
        # nothing is awaited from here on, so the model keeps the state of this read
        self._load(read.arrays)
        user_row = read.user_row
        if user_row is None:
            [user_row] = self._model.start(Side.USER, id_hashes([user]))
        user_rows = np.broadcast_to(user_row, (len(items), user_row.size))
        predicted = self._model.predict(user_rows, self._item_rows(items, read.item_rows))
        return Predictions(predicted, partition_of(user, self._partitions), read.watermark)

    async def experts(self, partition: int) -> ExpertsReport:
        """Return how the experts of a partition are doing."""
        read = await self._profiles.shared(partition)
        self._load(read.arrays)
        return ExpertsReport(self._model.experts(), read.watermark)

    def _load(self, arrays: dict[str, F64]) -> None:
        if arrays is not self._loaded:
            self._model.load(arrays)
            self._loaded = arrays

    def _item_rows(self, items: Sequence[str], rows: Sequence[F32 | None]) -> F32:
        missing = [item for item, row in zip(items, rows, strict=True) if row is None]
        starts = iter(self._model.start(Side.ITEM, id_hashes(missing)) if missing else ())
        return np.array([next(starts) if row is None else row for row in rows])
