"""The recipes mf, svdfeature, pitf and cp: models that may use the user's previous item.

Only ``hedgerow eval`` trains them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.batch.contexts import config as contexts
from core.batch.contexts.config import ContextConfig
from core.batch.contexts.ranker import ContextRanker
from core.batch.contexts.search import search
from core.recipe_settings import RecipeSettings
from core.search.search import Budget
from service.training.answers import UserVectors
from service.training.data.material import Material
from service.training.recipe import Searched


@dataclass(frozen=True)
class ContextRecipe:
    """One kind of dot-product model, fitted by gradient descent."""

    settings: RecipeSettings[ContextConfig]

    @property
    def files(self) -> frozenset[str]:
        return frozenset({"items"} if self.settings.base.kind == "svdfeature" else ())

    def search(
        self, material: Material, given: Mapping[str, Any], budget: Budget
    ) -> Searched[ContextConfig]:
        config = search(
            material.pairs,
            self.settings.config(given),
            budget,
            item_features=material.item_features,
            fixed=frozenset(given),
        )
        return Searched(config)

    def fit(
        self, material: Material, config: ContextConfig, *, previous: ContextRanker | None = None
    ) -> ContextRanker:
        model = ContextRanker(config)
        return model.fit(material.pairs, item_features=material.item_features, previous=previous)

    def answers(
        self, material: Material, config: ContextConfig, model: ContextRanker
    ) -> UserVectors:
        return UserVectors(model.asked_vectors, model.item_factors)


RECIPES = tuple(ContextRecipe(one) for one in contexts.RECIPES)
