"""Keeps the items that were added after a training known to the models that rank them."""

import asyncio

from service.ranking.trained.later_items import LaterItems
from service.served_models import ActiveModels
from service.serving.copies.polling import Polled
from service.store.catalogue.reader import CatalogueReader


class LaterItemsFollower(Polled):
    """Reads the documents of later items when they change; ``current`` is replaced as a whole."""

    def __init__(self, models: ActiveModels, catalogue: CatalogueReader) -> None:
        super().__init__()
        self._models, self._catalogue = models, catalogue
        self.current = LaterItems()

    async def refresh(self) -> None:
        """Read the documents of these items now, if anything changed."""
        models = [model.ranker for model in self._models.current.models.values()]
        self.current = await asyncio.to_thread(self.current.refreshed, models, self._catalogue)
