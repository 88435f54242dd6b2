"""The follower's copy of what slates read in the catalogue; reading it is bounded in time."""

import time
from collections.abc import Iterable

from service.ranking.later_items import LaterItems
from service.ranking.ranker import Ranker
from service.store.catalogue.reader import CatalogueReader

SHARE = 0.02
"""Largest share of the time that reading the catalogue may take."""


class FollowedCatalogue:
    """The items that were added after a training, as of the last refresh."""

    def __init__(self, reader: CatalogueReader, *, share: float = SHARE) -> None:
        self._reader, self._share = reader, share
        self._later = LaterItems()
        self._due = 0.0

    def refresh(self, models: Iterable[Ranker]) -> list[Ranker]:
        """Return the models with later items, and read what changed if there is time for it."""
        models = list(models)
        if time.monotonic() >= self._due or not self._later.covers(models):
            began = time.monotonic()
            self._later = self._later.refreshed(models, self._reader)
            self._due = time.monotonic() + (time.monotonic() - began) / self._share
        return [self._later.with_later(model) for model in models]
