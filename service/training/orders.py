"""Orders of a training: which recipes there are, and whether stated settings are good.

The api checks orders with this module; it loads no code that searches or fits.
"""

from collections.abc import Mapping
from typing import Any

from core.errors import ConfigError
from service.errors import InvalidTraining
from service.ranking.families import FAMILIES
from service.ranking.family import Family

TRAINED = {one.name: one for family in FAMILIES.values() for one in family.recipes}
"""Settings of the recipes whose models serve, by name."""
_FAMILIES = {one.name: family for family in FAMILIES.values() for one in family.recipes}


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


def family_of(model: str) -> Family:
    """Return the family of a recipe."""
    return _FAMILIES[model]
