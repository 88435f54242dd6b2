"""The search of settings for models with fold-in; the shrinkage is searched after all others."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from core.batch.row_objective import RowObjective
from core.batch.shrinkage import choose_shrinkage, without_shrinkage
from core.interactions import Interactions
from core.recipe_settings import RecipeSettings
from core.search.search import Budget

FEWEST_TO_SEARCH = 10
"""Least number of users with two pairs: with fewer, no settings can be chosen."""

ConfigT = TypeVar("ConfigT")


def searchable(pairs: Interactions) -> bool:
    """Return whether enough users have two pairs to choose settings by."""
    return int((pairs.user_counts > 1).sum()) >= FEWEST_TO_SEARCH


def search_with_shrinkage(
    settings: RecipeSettings[ConfigT],
    pairs: Interactions,
    given: Mapping[str, Any],
    budget: Budget,
    *,
    search: Callable[[Budget], ConfigT],
    fit: Callable[[ConfigT, Interactions], RowObjective],
    shrinks: Callable[[ConfigT], bool] = lambda config: True,
) -> ConfigT:
    """Search all settings but the shrinkage, then choose the shrinkage.

    The shrinkage is not chosen if it is stated or the budget is 0. If too few users have two pairs
    to choose by, the budget counts as 0 and rough settings are taken. ``fit`` fits the settings
    found to other pairs; ``shrinks`` tells whether a model with these settings shrinks vectors.
    """
    if not searchable(pairs):
        budget = replace(budget, seconds=0.0)
    config = search(without_shrinkage(budget, given))
    if "shrinkage" in given or budget.seconds <= 0.0 or not shrinks(config):
        return config
    found = settings.flat(config)
    chosen = choose_shrinkage(
        pairs, lambda some: fit(config, some), seed=found["seed"], otherwise=found["shrinkage"]
    )
    return settings.changed(config, {"shrinkage": chosen})
