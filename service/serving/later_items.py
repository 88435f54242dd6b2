"""Vectors for items that were added after a training, computed from their current documents."""

import asyncio
from collections.abc import Mapping
from typing import Any

import numpy as np

from core.types import F32
from service.ranking.ranker import MOST_LATER, Ranker
from service.served_models import ActiveModels
from service.serving.catalogue_view import CatalogueView
from service.serving.polling import Polled
from service.store.catalogue.documents import Catalogue
from service.store.catalogue.numbers import ItemNumbers

SLICE = 500
"""Number of documents in one read."""


class LaterVectors(Polled):
    """Keeps the vectors for each model that uses them; ``current`` is replaced as a whole."""

    def __init__(
        self,
        models: ActiveModels,
        view: CatalogueView,
        numbers: ItemNumbers,
        catalogue: Catalogue,
    ) -> None:
        super().__init__()
        self._models, self._view = models, view
        self._numbers, self._catalogue = numbers, catalogue
        self._seen: dict[str, tuple[int, int]] = {}
        self.current: Mapping[str, F32] = {}
        """Vectors of the items that were added after a model's training, by its version."""

    async def refresh(self) -> None:
        """Read the documents of these items now, if anything changed."""
        active = [model.ranker for model in self._models.current.models.values()]
        vectors_of = {
            ranker.version: await self._vectors(ranker)
            for ranker in active
            if ranker.family.reads_later_items
        }
        if any(self.current.get(version) is not vectors for version, vectors in vectors_of.items()):
            self.current = vectors_of
            self._seen = {version: self._seen[version] for version in vectors_of}

    async def _vectors(self, ranker: Ranker) -> F32:
        """Return vectors of the items that a model was not trained on; the same object if equal."""
        version, n_items = ranker.version, ranker.n_items
        count = min(await self._numbers.count(), n_items + MOST_LATER)
        seen, before = (count, self._view.current.version), self.current.get(version)
        if before is not None and self._seen.get(version) == seen:
            return before
        bodies: list[Mapping[str, Any]] = []
        for first in range(n_items, count, SLICE):
            numbers = range(first, min(first + SLICE, count))
            bodies += [document.body or {} for document in await self._catalogue.items(numbers)]
        vectors = await asyncio.to_thread(ranker.later_vectors, bodies)
        self._seen[version] = seen
        return before if before is not None and np.array_equal(before, vectors) else vectors
