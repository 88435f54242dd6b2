"""Stars from what is known of user and item: the recipe of the ordinal model."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from core.errors import DataError
from core.ordinal import config
from core.ordinal.config import StarsConfig
from core.ordinal.snapshot import of_stars, stars_of
from core.ordinal.stars import Stars, agreement, fit_stars
from core.search.search import Budget
from core.snapshot import About, Snapshot
from service.training.dataset import Dataset, Described, Material
from service.training.described_recipe import DescribedRecipe, encoders
from service.training.judge import Verdict


class StarRecipe(DescribedRecipe):
    """Ordinal scores of described pairs; kernel and regularisation are found by validation within each fit."""

    strategy = "ordinal"
    with_ratings = True
    [settings] = config.RECIPES

    def search(
        self,
        material: Material,
        given: Mapping[str, Any],
        budget: Budget,
        on_share: Callable[[float], None],
    ) -> StarsConfig:
        return self.settings.config(given)

    def fit(
        self, material: Material, config: StarsConfig, *, previous: Stars | None = None
    ) -> Stars:
        described, rated = material.described, material.rated
        if described is None or described.items is None or rated is None:
            raise DataError("stars need ratings, and features of users and items")
        if described.features.nnz == 0 or described.items.features.nnz == 0:
            raise DataError(
                "stars need features that several users share, and several items: write their documents "
                "(PUT /v1/users/{id}, PUT /v1/items/{id}), then retrain"
            )
        return fit_stars(described.features, described.items.features, rated, config)

    def judged(self, data: Dataset, model: Stars) -> Verdict:
        return replace(super().judged(data, model), more=_foreseen(data, model))

    def snapshot(
        self, name: str, model: Stars, described: Described | None, about: About
    ) -> Snapshot:
        return of_stars(name, model, **encoders(described), **about)

    def restored(self, snapshot: Snapshot) -> Stars:
        return stars_of(snapshot)


def _foreseen(data: Dataset, model: Stars) -> dict[str, float]:
    """Return how well the model foresees the stars that came after the cut."""
    described, rated = data.described, data.rated
    if described is None or described.items is None or rated is None:
        return {}
    held = rated.pairs.rows(~rated.known)
    found = agreement(model, described.features, described.items.features, held)
    return {f"stars_{name}": value for name, value in found.items()}
