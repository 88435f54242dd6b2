"""The settings of content and of its recipe.

This module imports no code that fits, so that a process without training can check settings.
"""

from dataclasses import dataclass, fields

from core.recipe_settings import RecipeSettings
from core.search.bounds import check_bounds


@dataclass(frozen=True)
class ContentConfig:
    """Settings of one fit.

    >>> ContentConfig(ridge=30.0).factors
    64
    """

    factors: int = 64
    """Most factors of the vectors; fewer where there are few users or items."""
    ridge: float = 0.0
    """Strength of the ridge: the prior evidence, in items, that a feature says nothing.

    At 0 it is chosen by the items that a regression has not seen.
    """
    seed: int = 0

    def __post_init__(self) -> None:
        check_bounds(self, counts=("factors",), from_0=("ridge",))


RECIPES = (
    RecipeSettings("content", ContentConfig(), tuple(one.name for one in fields(ContentConfig))),
)
