"""The settings of the family that learns contexts, and of its recipe.

This module imports no code that fits, so that a process without training can check settings.
"""

from dataclasses import dataclass

from core.recipe_settings import RecipeSettings
from core.search.bounds import check_bounds

FEWEST_USERS = 20
"""Fewest users whose likes teach a name and text; of fewer, lifts would show the taste of these."""


@dataclass(frozen=True)
class HereConfig:
    """Settings of one fit.

    >>> HereConfig().most
    64
    """

    fewest: int = 50
    """Fewest liked items, of all users together, by which a name and text are learned."""
    most: int = 64
    """Most names and texts that are learned: those with the most liked items."""

    def __post_init__(self) -> None:
        check_bounds(self, counts=("fewest", "most"))


RECIPES = (RecipeSettings("here", HereConfig(), ("fewest", "most")),)
