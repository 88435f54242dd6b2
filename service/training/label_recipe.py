"""Items as labels of users: the recipe of the model that knows people by their features alone."""

from collections.abc import Callable, Mapping
from typing import Any

from core.errors import DataError
from core.interactions import Interactions
from core.labels import config
from core.labels.config import ItemsConfig
from core.labels.items import LabelledItems, fit_items, search_items
from core.labels.snapshot import items_of, of_items
from core.search.search import Budget
from core.snapshot import About, Snapshot
from service.training.dataset import Described, Material
from service.training.described_recipe import DescribedRecipe, encoders


class LabelRecipe(DescribedRecipe):
    """Label embeddings; it is judged, as it serves, by features alone."""

    strategy = "exmlds"
    with_ratings = False
    [settings] = config.RECIPES

    def search(
        self,
        material: Material,
        given: Mapping[str, Any],
        budget: Budget,
        on_share: Callable[[float], None],
    ) -> ItemsConfig:
        described, liked = _users(material)
        base, fixed = self.settings.config(given), frozenset(given)
        return search_items(described.features, liked, base, budget, fixed=fixed, on_share=on_share)

    def fit(
        self, material: Material, config: ItemsConfig, *, previous: LabelledItems | None = None
    ) -> LabelledItems:
        described, liked = _users(material)
        items = None if described.items is None else described.items.features
        return fit_items(described.features, liked, config, items)

    def snapshot(
        self, name: str, model: LabelledItems, described: Described | None, about: About
    ) -> Snapshot:
        return of_items(name, model, **encoders(described), **about)

    def restored(self, snapshot: Snapshot) -> LabelledItems:
        return items_of(snapshot)


def _users(material: Material) -> tuple[Described, Interactions]:
    """Return what is known of users and what they like; DataError if nobody is described."""
    described, pairs = material.described, material.pairs
    if described is None or described.features.nnz == 0:
        raise DataError(
            "no user with a history has features that others share: put them into the users' documents "
            "(PUT /v1/users/{id}), then retrain"
        )
    return described, pairs if pairs.target is None else pairs.keep(pairs.target > 0)
