"""Keeps the items that models have not learned folded in, by the takers that learners publish."""

import asyncio

from service.ranking.trained.folded_items import FoldedItems
from service.served_models import ActiveModels
from service.serving.copies.later_items import LaterItemsFollower
from service.serving.copies.online_items import OnlineSnapshotFollower
from service.serving.copies.polling import Polled


class FoldedItemsFollower(Polled):
    """Folds items in when models or takers have changed; ``current`` is replaced as a whole."""

    def __init__(
        self, models: ActiveModels, learned: OnlineSnapshotFollower, later: LaterItemsFollower
    ) -> None:
        super().__init__()
        self._models, self._learned, self._later = models, learned, later
        self.current = FoldedItems()

    async def refresh(self) -> None:
        """Fold items in now, if anything changed."""
        later = self._later.current
        models = [later.with_later(one.ranker) for one in self._models.current.models.values()]
        takers = self._learned.current.takers
        self.current = await asyncio.to_thread(self.current.refreshed, models, takers)
