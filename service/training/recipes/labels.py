"""The recipe of label embeddings: items are labels of users, who are known by features alone."""

from collections.abc import Mapping
from typing import Any

from core.errors import DataError
from core.interactions import Interactions
from core.labels import config as labels
from core.labels.config import ItemsConfig
from core.labels.items import fit_items, search_items
from core.labels.labelled_items import ItemsAsLabels
from core.labels.snapshot import items_of, of_items
from core.search.search import Budget
from core.snapshot import About, Snapshot
from service.training.by_features import FeatureRecipe, encoders
from service.training.data.dataset import EncodedUsers
from service.training.data.material import Material
from service.training.recipe import Searched


class LabelRecipe(FeatureRecipe):
    """Label embeddings, validated as they serve: by features alone."""

    [settings] = labels.RECIPES

    def search(
        self, material: Material, given: Mapping[str, Any], budget: Budget
    ) -> Searched[ItemsConfig]:
        features, liked = _users(material)
        base, fixed = self.settings.config(given), frozenset(given)
        config = search_items(features, liked, base, budget, fixed=fixed)
        return Searched(config)

    def fit(
        self, material: Material, config: ItemsConfig, *, previous: ItemsAsLabels | None = None
    ) -> ItemsAsLabels:
        features, liked = _users(material)
        return fit_items(features, liked, config, material.item_features)

    def snapshot(
        self, name: str, model: ItemsAsLabels, encoded: EncodedUsers | None, about: About
    ) -> Snapshot:
        return of_items(name, model, **encoders(encoded), **about)

    def restored(self, snapshot: Snapshot) -> ItemsAsLabels:
        return items_of(snapshot)


def _users(material: Material) -> tuple[Any, Interactions]:
    """Return the users' features and liked items; raise DataError if no user has features."""
    features, pairs = material.user_features, material.pairs
    if features is None or features.nnz == 0:
        raise DataError(
            "no user with a history has features that others share: put them into the users' "
            "documents (PUT /v1/users/{id}), then retrain"
        )
    return features, pairs if pairs.target is None else pairs.keep(pairs.target > 0)


RECIPES = (LabelRecipe(),)
