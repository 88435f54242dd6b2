"""The steps of all users, before and after a cut, built page by page."""

import numpy as np
from numpy.typing import NDArray

from core.meaning import EventMeanings
from core.steps import Steps
from service.store.profiles.history_reader import Histories
from service.training.data.dataset import Order


class StepPages:
    """The steps of all users, page by page."""

    def __init__(self, n_items: int, meanings: EventMeanings) -> None:
        self._n_items, self._meanings = n_items, meanings
        self._known: list[Steps] = []
        self._later: list[Steps] = []
        self._whole: list[Steps] = []

    def add(self, page: Histories, known: NDArray[np.bool_], later: NDArray[np.bool_]) -> None:
        records = page.records
        weight = self._meanings.meaning(records["kind"], records["value"]).weight
        counts = (weight > 0.0) & (records["item"] < self._n_items)
        whole = counts & (known | later)
        kinds = (self._known, counts & known), (self._later, counts & later), (self._whole, whole)
        for parts, chosen in kinds:
            # the records of a user are already in order
            ptr = np.searchsorted(page.user_ix[chosen], np.arange(len(page.users) + 1))
            item, own = records["item"][chosen], weight[chosen].astype(np.float32)
            parts.append(Steps(self._n_items, ptr.astype(np.int64), item.astype(np.int32), own))

    def order(self) -> Order:
        return Order(*map(self._joined, (self._known, self._later, self._whole)))

    def _joined(self, parts: list[Steps]) -> Steps:
        counts = [np.empty(0, np.int64), *(np.diff(part.user_ptr) for part in parts)]
        items = [np.empty(0, np.int32), *(part.item_ix for part in parts)]
        weights = [np.empty(0, np.float32), *(part.weight for part in parts)]
        ptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
        return Steps(self._n_items, ptr, np.concatenate(items), np.concatenate(weights))
