"""The recipe content: items by what is said of them, in the space of a factorisation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.batch.content import config as content
from core.batch.content.config import ContentConfig
from core.batch.content.encoder import Described
from core.batch.content.fit import fit
from core.batch.content.model import Content
from core.batch.content.snapshot import content_of, of_content
from core.errors import DataError
from core.search.search import Budget
from core.snapshot import About, Snapshot
from core.types import F32
from service.training.answers import Answers, Asked
from service.training.data.dataset import Dataset, EncodedUsers
from service.training.data.material import Material
from service.training.recipe import Searched
from service.training.validation import Validation, validated


@dataclass(frozen=True)
class ContentAnswers(Answers):
    """The answers by the places of items; an item without one is in no list."""

    model: Content

    @property
    def n_items(self) -> int:
        return self.model.n_items

    def scores(self, asked: Asked) -> F32:
        scores: F32 = self.model.row.vectors(asked.rows) @ self.model.places.T
        scores[:, ~self.model.placed] = -float("inf")
        return scores


class ContentRecipe:
    """Learns from pairs and from the documents of items; all held-out users validate a model."""

    [settings] = content.RECIPES

    def search(
        self, material: Material, given: Mapping[str, Any], budget: Budget
    ) -> Searched[ContentConfig]:
        # the fit chooses what matters by itself: the strength of the ridge
        return Searched(self.settings.config(given))

    def fit(
        self, material: Material, config: ContentConfig, *, previous: Content | None = None
    ) -> Content:
        return fit(material.pairs, _described(material), config)

    def held_out(self, data: Dataset) -> Dataset:
        return data

    def validated(self, data: Dataset, model: Content) -> Validation:
        return validated(data, ContentAnswers(model))

    def snapshot(
        self, name: str, model: Content, encoded: EncodedUsers | None, about: About
    ) -> Snapshot:
        return of_content(name, model, **about)

    def restored(self, snapshot: Snapshot) -> Content:
        return content_of(snapshot)


def _described(material: Material) -> Described:
    """Return what is said of the items; raise DataError if they share nothing."""
    found = material.described
    if found is None or found.rows.nnz == 0:
        raise DataError(
            "no item has features that others share: write documents of items "
            "(PUT /v1/items/{id}), then retrain"
        )
    return found


RECIPES = (ContentRecipe(),)
