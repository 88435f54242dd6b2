"""The recipes of one-class matrix factorisation.

These models answer users without a history by the features of their documents.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.batch.ocmf import config as ocmf
from core.batch.ocmf.config import FeatureUse
from core.batch.ocmf.feature_use import FittedUse, SideInformation, Tried, choose, fit_with
from core.batch.ocmf.model import Ocmf
from core.batch.ocmf.users import StructuredUsers
from core.batch.row_objective import RowObjective
from core.interactions import Interactions
from core.recipe_settings import RecipeSettings
from core.search.search import Budget
from service.training.answers import Bools, UserVectors
from service.training.data.material import Material
from service.training.fold_in import FoldInRecipe, folded_in
from service.training.recipe import Searched
from service.training.searching import search_with_shrinkage


@dataclass(frozen=True)
class OcmfRecipe(FoldInRecipe):
    """One-class matrix factorisation with one of its three losses."""

    settings: RecipeSettings[FeatureUse]
    files = frozenset({"users", "graph"})

    def search(
        self, material: Material, given: Mapping[str, Any], budget: Budget
    ) -> Searched[FeatureUse]:
        pairs, base = material.pairs, self.settings.config(given)
        side = _side(material, linked=given.get("graph") != 0.0)
        tried: list[Tried] = []

        def search(left: Budget) -> FeatureUse:
            used, compared = choose(
                pairs,
                base.config,
                left,
                side,
                use=given.get("features"),
                fixed=frozenset(given) | self.settings.fixed,
            )
            tried.extend(compared)
            return used

        config = search_with_shrinkage(
            self.settings,
            pairs,
            given,
            budget,
            search=search,
            fit=_row_of,
            shrinks=lambda found: found.use != "made",
        )
        return Searched(config, [_compared(one, side) for one in tried])

    def fit(
        self, material: Material, config: FeatureUse, *, previous: StructuredUsers | None = None
    ) -> StructuredUsers:
        return fit_with(
            material.pairs, config, _side(material, linked=config.config.graph > 0.0)
        ).users

    def answers(
        self, material: Material, config: FeatureUse, model: StructuredUsers
    ) -> UserVectors:
        side, row = _side(material, linked=model.link > 0.0), model.row
        if side.features is None and not model.link:
            # all rows at once
            return folded_in(model)
        fitted = FittedUse(config, model)
        return UserVectors(
            lambda users, rows: fitted.vectors(material.pairs, side, users),
            row.item_factors,
            _informed(material.pairs, side, model),
        )


def _side(material: Material, *, linked: bool) -> SideInformation:
    """Return the side information; features without columns count as absent.

    The matrix of links is built at each call: ask for it only where a model uses it.
    """
    features = material.user_features
    known = features if features is not None and features.shape[1] else None
    return SideInformation(known, material.similar if linked else None)


def _row_of(used: FeatureUse, pairs: Interactions) -> RowObjective:
    """Fit to pairs alone: links and features are not needed to choose the shrinkage."""
    return Ocmf(replace(used.config, graph=0.0)).fit(pairs).row_objective


def _informed(pairs: Interactions, side: SideInformation, model: StructuredUsers) -> Bools:
    """Mark the users whose vectors are informed even without pairs."""
    if side.features is not None:
        return np.ones(pairs.n_users, np.bool_)
    similar: Any = side.similar
    some: Bools = similar @ (pairs.user_counts > 0).astype(np.float32) > 0
    return some


def _compared(one: Tried, side: SideInformation) -> dict[str, Any]:
    """Return a compared use as ``--set`` takes it, with its score."""
    features: dict[str, Any] = {} if side.features is None else {"features": one.used.use}
    links = {} if side.similar is None else {"graph": one.used.config.graph}
    return features | links | {"ndcg@20": one.score}


RECIPES = tuple(OcmfRecipe(one) for one in ocmf.RECIPES)
