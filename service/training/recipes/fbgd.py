"""The recipe fbgd: matrix factorisation on all pairs, observed or not."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core.batch.fbgd import config as fbgd
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.fbgd.search import search
from core.batch.ocmf.users import StructuredUsers
from core.search.search import Budget
from service.training.answers import UserVectors
from service.training.data.material import Material
from service.training.fold_in import FoldInRecipe, folded_in
from service.training.recipe import Searched
from service.training.searching import search_with_shrinkage


class FbgdRecipe(FoldInRecipe):
    """Learns from pairs alone."""

    [settings] = fbgd.RECIPES
    files: frozenset[str] = frozenset()

    def search(
        self, material: Material, given: Mapping[str, Any], budget: Budget
    ) -> Searched[FbgdConfig]:
        pairs, base, fixed = material.pairs, self.settings.config(given), frozenset(given)
        config = search_with_shrinkage(
            self.settings,
            pairs,
            given,
            budget,
            search=lambda left: search(pairs, base, left, fixed=fixed),
            fit=lambda found, some: Fbgd(found).fit(some).fitted,
        )
        return Searched(config)

    def fit(
        self, material: Material, config: FbgdConfig, *, previous: StructuredUsers | None = None
    ) -> StructuredUsers:
        if previous is not None:
            # one epoch brings a model up to date with a few new events
            warm = Fbgd(replace(config, epochs=1)).fit(material.pairs, previous=previous.row)
            return StructuredUsers(warm.fitted, items=warm.item_objective)
        model = Fbgd(config).fit(material.pairs)
        return StructuredUsers(model.fitted, items=model.item_objective)

    def answers(
        self, material: Material, config: FbgdConfig, model: StructuredUsers
    ) -> UserVectors:
        return folded_in(model)


RECIPES = (FbgdRecipe(),)
