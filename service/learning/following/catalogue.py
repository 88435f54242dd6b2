"""The follower's copy of what slates read in the catalogue; reading it is bounded in time."""

import time
from collections.abc import Iterable

from service.ranking.ranker import Ranker
from service.ranking.trained.later_items import LaterItems
from service.store.catalogue.columns import Catalogued
from service.store.catalogue.reader import CatalogueReader

SHARE = 0.02
"""Largest share of the time that reading the catalogue may take."""
AT_ONCE = 10_000
"""Most documents of one reading: a large catalogue is read in parts."""


class FollowedCatalogue:
    """The items that may be shown, and those that were added after a training."""

    def __init__(
        self, reader: CatalogueReader, *, share: float = SHARE, at_once: int = AT_ONCE
    ) -> None:
        self._reader, self._share, self._at_once = reader, share, at_once
        self._later = LaterItems()
        self._copy: _Copy | None = None
        self._due = 0.0
        self.items: Catalogued | None = None
        """The items as of the last refresh; None until all of them have been read."""

    def refresh(self, models: Iterable[Ranker]) -> list[Ranker]:
        """Return the models with later items, and read what changed if there is time for it."""
        models = list(models)
        if time.monotonic() >= self._due or not self._later.covers(models):
            began = time.monotonic()
            self._later = self._later.refreshed(models, self._reader)
            self._follow()
            self._due = time.monotonic() + (time.monotonic() - began) / self._share
        return [self._later.with_later(model) for model in models]

    def _follow(self) -> None:
        """Take over the latest changes, or read the next part of all documents."""
        if self.items is not None and self._copy is None:
            changed = self._reader.changed(self.items.version)
            if changed.numbers is not None:
                if changed.numbers:
                    documents = self._reader.stored(changed.numbers)
                    items = dict(zip(changed.numbers, documents, strict=True))
                    self.items = self.items.replaced(changed.version, items)
                return
        self._copy = self._copy or _Copy(self._reader)
        if self._copy.read(self._at_once):
            # what changed while it was read comes with the next changes
            self.items, self._copy = self._copy.items, None


class _Copy:
    """All items, as far as they have been read."""

    def __init__(self, reader: CatalogueReader) -> None:
        self._reader = reader
        state = reader.state()
        self._n_items, self._n_read = state.n_items, 0
        self.items = Catalogued(state.version, names=frozenset())

    def read(self, n: int) -> bool:
        """Read the next n documents; return whether these were the last."""
        numbers = range(self._n_read, min(self._n_read + n, self._n_items))
        documents = dict(zip(numbers, self._reader.stored(numbers), strict=True))
        self.items = self.items.replaced(self.items.version, documents)
        self._n_read = numbers.stop
        return self._n_read == self._n_items
