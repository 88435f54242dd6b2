"""Popularity, the baseline of all other models: items ranked by their number of users."""

from collections.abc import Mapping
from typing import Any

from core.batch.popularity import Popular
from core.recipe_settings import RecipeSettings
from core.search.search import Budget
from service.training.answers import UserVectors
from service.training.data.material import Material
from service.training.recipe import Searched


class PopularRecipe:
    """Counts the users of each item; there are no settings."""

    settings = RecipeSettings[None](
        "popular", None, (), changed=lambda config, values: config, flat=lambda config: {}
    )
    files: frozenset[str] = frozenset()

    def search(
        self, material: Material, given: Mapping[str, Any], budget: Budget
    ) -> Searched[None]:
        return Searched(None)

    def fit(self, material: Material, config: None, *, previous: Any = None) -> Popular:
        return Popular().fit(material.pairs)

    def answers(self, material: Material, config: None, model: Popular) -> UserVectors:
        return UserVectors(lambda users, rows: model.user_vectors(rows), model.item_factors)


RECIPES = (PopularRecipe(),)
