"""Stars from what is known of user and item: the recipe of the ordinal model."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from core.batch.search import Budget
from core.errors import DataError
from core.ordinal.snapshot import of_stars, stars_of
from core.ordinal.stars import Stars, StarsConfig, fit_stars
from core.snapshot import Snapshot
from service.training.about import About, encoders
from service.training.dataset import Dataset, Described, Material
from service.training.judge import Verdict, described_judges, judged_by_features


class StarRecipe:
    """Ordinal scores of described pairs; kernel and regularisation are found by validation within each fit."""

    strategy = "ordinal"
    with_documents = with_items = with_ratings = True
    settings = tuple(field.name for field in fields(StarsConfig))

    def config(self, given: Mapping[str, Any]) -> StarsConfig:
        return replace(StarsConfig(), **given)

    def search(
        self,
        material: Material,
        given: Mapping[str, Any],
        budget: Budget,
        on_share: Callable[[float], None],
    ) -> StarsConfig:
        return self.config(given)

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

    def judges(self, data: Dataset) -> Dataset:
        return described_judges(data)

    def judged(self, data: Dataset, model: Stars) -> Verdict:
        return judged_by_features(data, model)

    def snapshot(
        self, name: str, model: Stars, described: Described | None, more: About
    ) -> Snapshot:
        users, items = encoders(described)
        return of_stars(name, model, encoder=users, item_encoder=items, **more)

    def restored(self, snapshot: Snapshot) -> Stars:
        return stars_of(snapshot)
