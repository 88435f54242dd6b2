"""The recipes by name. Each module of this package defines ``RECIPES``; there is no other list."""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from service.training.orders import check_order
from service.training.recipe import RankingRecipe, Recipe, ServedRecipe


def _found() -> dict[str, Recipe[Any]]:
    modules = [import_module(one.name) for one in iter_modules(__path__, f"{__name__}.")]
    return {recipe.settings.name: recipe for module in modules for recipe in module.RECIPES}


RECIPES = _found()
SERVED = {name: one for name, one in RECIPES.items() if isinstance(one, ServedRecipe)}
"""Recipes whose models can serve; only these can be ordered."""
RANKING = {name: one for name, one in RECIPES.items() if isinstance(one, RankingRecipe)}
"""Recipes that ``hedgerow eval topk`` offers."""


def checked(model: str, parameters: Mapping[str, Any]) -> ServedRecipe[Any]:
    """Return the recipe of an order; raise InvalidTraining if the order is wrong."""
    check_order(model, parameters)
    return SERVED[model]
