"""The online model as a ranker: items as of a few seconds ago, and the user's current row."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.online.model import OnlineModel
from core.online.tables import COUNT
from core.types import F32
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.family import Family
from service.ranking.ranker import ScoreRanker
from service.ranking.strategies import ONLINE

_NONE: F32 = np.empty(0, np.float32)


@dataclass(frozen=True, eq=False)
class OnlineItems:
    """All items of one partition as they were after the event ``seen_through``."""

    version: str
    seen_through: int
    model: OnlineModel
    """Holds the shared state of the same moment; nothing else may load another state into it."""
    rows: F32

    @property
    def n_items(self) -> int:
        """Return the number of items; they are the items 0 .. n_items - 1."""
        return len(self.rows)

    def scores(self, user_row: F32) -> F32:
        """Return the score of each item (n,) for a user's row; -inf for items without ratings."""
        return self.model.scores(user_row, self.rows, self._item_contribution)

    @cached_property
    def _item_contribution(self) -> F32:
        rated = self.rows[:, COUNT] > 0.0
        return np.where(rated, self.model.item_part(self.rows), np.float32(-np.inf))


class Online(ScoreRanker):
    """Ranks by predicted ratings for users who have rated something."""

    def __init__(self, family: Family, partition: int, items: OnlineItems) -> None:
        version = f"online-{items.model.fingerprint.hex()}"
        super().__init__(family, version, {partition: items.seen_through})
        self._items = items
        self.n_items, self.effort = items.n_items, items.rows.size

    @property
    def made_of(self) -> str:
        return self._items.version

    def knows(self, asker: Asker) -> bool:
        return asker.row is not None

    def new_scores(self, asker: Asker) -> F32:
        return _NONE if asker.row is None else self._items.scores(asker.row)


class OnlineState(dict[int, OnlineItems]):
    """The items by partition; a partition without ratings has no entry."""

    def rankers(self, partition: int | None) -> Sequence[Online]:
        """Return the ranker of a partition: the online model knows no users but its own."""
        if partition is None or partition not in self:
            return []
        return [Online(FAMILIES[ONLINE], partition, self[partition])]
