"""Orders of trainings: the recipes on offer, and the check of stated settings.

The api checks orders with this module, which imports no code that searches or fits.
"""

from collections.abc import Mapping
from typing import Any

from core.errors import ConfigError
from service.errors import InvalidTraining
from service.ranking.families import FAMILIES
from service.ranking.family import Family

TRAINED = {one.name: one for family in FAMILIES.values() for one in family.recipes}
"""Settings of the recipes whose models can serve, by name of the recipe."""
_FAMILIES = {one.name: family for family in FAMILIES.values() for one in family.recipes}


def check_order(model: str | None, parameters: Mapping[str, Any]) -> None:
    """Raise InvalidTraining unless the order can be trained; None has no settings.

    The message names the recipes, the settings or their bounds.
    """
    if model is None:
        return
    settings = TRAINED.get(model)
    if settings is None:
        known = ", ".join(TRAINED)
        raise InvalidTraining(f"there is no model {model!r} to train; there are: {known}")
    try:
        settings.checked(parameters)
    except ConfigError as error:
        raise InvalidTraining(str(error)) from error


def family_of(model: str) -> Family:
    """Return the family of a recipe."""
    return _FAMILIES[model]
