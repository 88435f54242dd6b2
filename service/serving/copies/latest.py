"""The latest items: their order is made again when the catalogue changes."""

import asyncio

from service.ranking.untrained.everybody import Latest
from service.serving.copies.catalogue_view import CatalogueView
from service.serving.copies.polling import Polled
from service.store.catalogue.columns import Catalogued
from service.store.catalogue.feed import CatalogueFeed
from service.store.identity.survey import Survey


class LatestFollower(Polled):
    """Follows the catalogue while it is open; ``current`` is replaced as a whole."""

    def __init__(self, view: CatalogueView, feed: CatalogueFeed) -> None:
        super().__init__()
        self._view, self._feed = view, feed
        self._made_of: Catalogued | None = None
        self.current = Latest()

    def forget(self, now: Survey, *, went_back: bool) -> None:
        super().forget(now, went_back=went_back)
        # the catalogue may be read later than the number of its items
        self._made_of = None

    async def refresh(self) -> None:
        """Make the order now, if the catalogue has changed."""
        items = self._view.current
        if self._view.ready and items is not self._made_of:
            n = await self._feed.count()
            # in a thread: sorting a million items takes a tenth of a second
            self.current = await asyncio.to_thread(lambda: Latest.of(items.since(n)))
            self._made_of = items
