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
    if not (recipes := recipes_of(model)):
        known = ", ".join(TRAINED)
        raise InvalidTraining(f"there is no model {model!r} to train; there are: {known}")
    try:
        for recipe in recipes:
            TRAINED[recipe].checked(parameters)
    except ConfigError as error:
        raise InvalidTraining(str(error)) from error


def recipes_of(model: str | None) -> tuple[str, ...]:
    """Return the recipes that an order means: one, those of a strategy, or all (None).

    >>> recipes_of("fbgd"), recipes_of("ocmf")
    (('fbgd',), ('ocmf-lr-wsq', 'ocmf-sq-wsq', 'ocmf-sq-sq'))
    """
    if model is None:
        return tuple(TRAINED)
    if model in TRAINED:
        return (model,)
    return tuple(one.name for one in FAMILIES[model].recipes) if model in FAMILIES else ()


def family_of(model: str) -> Family:
    """Return the family of a recipe."""
    return _FAMILIES[model]
