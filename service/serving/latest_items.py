"""Items that came after the training of the ordinal model: their vectors, made of their documents as these change."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.batch.snapshot import encoders_of
from core.features import FeatureEncoder, of_item
from core.ordinal.snapshot import stars_of
from core.ordinal.stars import Stars
from core.types import F32
from service.served_models import ActiveModels
from service.serving.catalogue_view import CatalogueView
from service.serving.polling import Polled
from service.store.catalogue.documents import Catalogue
from service.store.catalogue.numbers import ItemNumbers

MOST = 10_000
"""Items beyond the model; with more of them it is time to train it again."""
SLICE = 500
"""Documents of one read."""


class LatestItems(Polled):
    """Follows them; ``current`` is replaced as a whole."""

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
        self._seen: tuple[str, int, int] | None = None
        self.current: Mapping[str, F32] = {}
        """By version of the model: the vectors of the items that follow those it knows."""

    async def refresh(self) -> None:
        """Read the documents of these items now, if anything changed."""
        model = self._models.current.models.get("ordinal")
        if model is None:
            return
        version, known = model.record.version, len(model.snapshot.arrays["item_vectors"])
        count = min(await self._numbers.count(), known + MOST)
        seen = version, count, self._view.current.version
        if seen == self._seen:
            return
        documents: list[Mapping[str, Any]] = []
        for first in range(known, count, SLICE):
            numbers = range(first, min(first + SLICE, count))
            documents += [one.body or {} for one in await self._catalogue.items(numbers)]
        encoder = encoders_of(model.snapshot)[1]
        vectors = await asyncio.to_thread(_vectors, stars_of(model.snapshot), encoder, documents)
        before = self.current.get(version)
        if before is None or not np.array_equal(before, vectors):
            self.current = {version: vectors}
        self._seen = seen


def _vectors(stars: Stars, encoder: FeatureEncoder, documents: Sequence[Mapping[str, Any]]) -> F32:
    return stars.vectors_of(encoder.transform([of_item(body) for body in documents]))
