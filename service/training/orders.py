"""Orders of a training: which recipes there are, and whether stated settings are good.

The api checks orders with this module; it loads no code that fits.
"""

from collections.abc import Mapping
from typing import Any

from core.batch.fbgd import config as fbgd
from core.batch.ocmf import config as ocmf
from core.errors import ConfigError
from core.labels import config as labels
from core.ordinal import config as ordinal
from core.recipe_settings import RecipeSettings
from service.errors import InvalidTraining

TRAINED: Mapping[str, RecipeSettings[Any]] = {
    one.name: one for one in (*fbgd.RECIPES, *ocmf.RECIPES, *labels.RECIPES, *ordinal.RECIPES)
}
"""Recipes whose models serve, by name."""


def check_order(model: str, parameters: Mapping[str, Any]) -> None:
    """Raise InvalidTraining, which names the recipes, the settings or the bounds, unless the order can be trained."""
    settings = TRAINED.get(model)
    if settings is None:
        known = ", ".join(TRAINED)
        raise InvalidTraining(f"there is no model {model!r} to train; there are: {known}")
    try:
        settings.checked(parameters)
    except ConfigError as error:
        raise InvalidTraining(str(error)) from error
