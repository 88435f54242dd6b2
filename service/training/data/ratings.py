"""A sample of the ratings, taken page by page."""

import numpy as np
from numpy.typing import NDArray

from core.meaning import RATING
from core.ordinal.fit_stars import RatedPairs
from core.types import F32, I64
from service.store.profiles.history_reader import Histories
from service.training.data.dataset import RatedSample


class RatingSample:
    """A uniform sample of the ratings, taken page by page."""

    def __init__(self, n_items: int, most: int) -> None:
        self._n_items, self._most = n_items, most
        self._rng = np.random.default_rng(1)
        self._parts: list[tuple[I64, I64, F32, NDArray[np.bool_]]] = []
        self._size, self._share = 0, 1.0

    def add(self, page: Histories, first_user: int, known: NDArray[np.bool_]) -> None:
        records, item = page.records, page.records["item"].astype(np.int64)
        chosen = np.flatnonzero((records["kind"] == RATING) & (item < self._n_items))
        # keep the latest rating of each pair: the records of a user are in order
        pair = (page.user_ix * self._n_items + item)[chosen][::-1]
        chosen = chosen[::-1][np.unique(pair, return_index=True)[1]]
        chosen = chosen[self._rng.random(chosen.size) < self._share]
        users = page.user_ix[chosen] + first_user
        self._parts.append((users, item[chosen], records["value"][chosen], known[chosen]))
        self._size += chosen.size
        if self._size > 2 * self._most:
            self._thin()

    def sample(self) -> RatedSample:
        user_ix, item_ix, value, known = self._columns()
        return RatedSample(RatedPairs(user_ix, item_ix, value.astype(np.float32)), known)

    def _thin(self) -> None:
        kept = self._rng.random(self._size) < 0.5
        user_ix, item_ix, value, known = self._columns()
        self._parts = [(user_ix[kept], item_ix[kept], value[kept], known[kept])]
        self._size, self._share = int(kept.sum()), self._share / 2

    def _columns(self) -> tuple[I64, I64, F32, NDArray[np.bool_]]:
        none = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
        parts = [(*none, np.empty(0, np.bool_)), *self._parts]
        user_ix, item_ix, value, known = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        return user_ix, item_ix, value, known
