"""Ranks by the last item: a personal family without training, which the service does not have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.types import F32
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.family import Family
from service.ranking.pool import Pool, chosen
from service.ranking.ranker import Listed, Ranker


class Nearby(Ranker):
    """Ranks the items whose numbers are near that of the latest item."""

    def __init__(self, family: Family, n_items: int, through: Mapping[int, int]) -> None:
        super().__init__(family, "nearby", through)
        self.n_items = self.effort = n_items

    def _latest(self, asker: Asker) -> int | None:
        known = (item for item in asker.preferences.latest.tolist() if item < self.n_items)
        return next(known, None)

    def knows(self, asker: Asker) -> bool:
        return self._latest(asker) is not None

    def best(self, asker: Asker, pool: Pool, n: int) -> Listed:
        return Listed(*chosen(self.scores(asker), pool, n))

    def scores(self, asker: Asker) -> F32:
        latest = self._latest(asker)
        if latest is None:
            return np.empty(0, np.float32)
        return (1.0 / (1.0 + np.abs(np.arange(self.n_items) - latest))).astype(np.float32)


@dataclass(frozen=True)
class NearbyState:
    """The number of items."""

    n_items: int
    through: Mapping[int, int]

    def rankers(self, partition: int | None) -> Sequence[Nearby]:
        """Return the ranker, which ranks for everybody who has a latest item."""
        return [Nearby(FAMILIES["nearby"], self.n_items, self.through)]


@dataclass(frozen=True)
class FollowedNearby:
    """A state that an api process could follow."""

    current: NearbyState
