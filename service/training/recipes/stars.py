"""The recipe of the ordinal model, which predicts stars from the features of user and item."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core.errors import DataError
from core.ordinal import config as ordinal
from core.ordinal.config import StarsConfig
from core.ordinal.fit_stars import agreement, fit_stars
from core.ordinal.snapshot import of_stars, stars_of
from core.ordinal.stars import Stars
from core.search.search import Budget
from core.snapshot import About, Snapshot
from service.training.by_features import FeatureRecipe, encoders
from service.training.data.dataset import Dataset, EncodedUsers
from service.training.data.material import Material
from service.training.recipe import Searched
from service.training.validation import Validation


class StarRecipe(FeatureRecipe):
    """Ordinal scores of pairs; each fit chooses kernel and regularisation by validation."""

    [settings] = ordinal.RECIPES

    def search(
        self, material: Material, given: Mapping[str, Any], budget: Budget
    ) -> Searched[StarsConfig]:
        return Searched(self.settings.config(given))

    def fit(
        self, material: Material, config: StarsConfig, *, previous: Stars | None = None
    ) -> Stars:
        users, items, rated = material.user_features, material.item_features, material.rated
        if users is None or items is None or rated is None:
            raise DataError("stars need ratings, and features of users and items")
        if users.nnz == 0 or items.nnz == 0:
            raise DataError(
                "stars need features that several users share, and several items: write their "
                "documents (PUT /v1/users/{id}, PUT /v1/items/{id}), then retrain"
            )
        return fit_stars(users, items, rated, config)

    def validated(self, data: Dataset, model: Stars) -> Validation:
        return replace(super().validated(data, model), more=_foreseen(data, model))

    def snapshot(
        self, name: str, model: Stars, encoded: EncodedUsers | None, about: About
    ) -> Snapshot:
        return of_stars(name, model, **encoders(encoded), **about)

    def restored(self, snapshot: Snapshot) -> Stars:
        return stars_of(snapshot)


def _foreseen(data: Dataset, model: Stars) -> dict[str, float]:
    """Return how well the model predicts the ratings from after the cut."""
    encoded, rated = data.encoded, data.rated
    if encoded is None or encoded.items is None or rated is None:
        return {}
    later = rated.pairs.rows(~rated.known)
    found = agreement(model, encoded.features, encoded.items.features, later)
    return {f"stars_{name}": value for name, value in found.items()}


RECIPES = (StarRecipe(),)
