"""The settings of the autoregression and of its recipe.

This module imports no code that fits, so that a process without training can check settings.
"""

from dataclasses import dataclass, fields

from core.errors import ConfigError
from core.recipe_settings import RecipeSettings
from core.search.bounds import check_bounds

MOST_ITEMS = 30
"""Largest number of latest items that a ranker is given (``core.steps.LATEST``)."""
MOST_EXACT, MOST_SOURCES = 20_000, 500
"""Upper bounds that keep memory and time of a fit within those of a usual machine."""


@dataclass(frozen=True)
class AutoregressionConfig:
    """Settings of one fit; ``search.py`` finds good ones.

    >>> AutoregressionConfig(fade=1.0).items
    20
    """

    items: int = 20
    """Number of latest items that predict the next."""
    fade: float = 0.7
    """How fast items lose weight with their age: weight (1 + age)^-fade, age 0 for the latest."""
    ahead: float = 1.0
    """How fast later items lose weight as targets: weight distance^-ahead, 1 for the next one."""
    back: float = 0.05
    """Weight with which an item also predicts those that came before it."""
    reg: float = 150.0
    """Regularisation of an item of mean frequency, in rows of length 1."""
    nu: float = 0.25
    """Exponent of an item's regularisation: reg (frequency / mean frequency)^nu."""
    popularity: float = 0.1
    """Exponent of an item's frequency by which its scores are divided."""
    exact_up_to: int = 10_000
    """Largest catalogue with the exact solution; larger ones have few sources for each item."""
    sources: int = 100
    """Largest number of items that predict an item where the solution is not exact."""

    def __post_init__(self) -> None:
        check_bounds(
            self,
            counts=("items", "sources"),
            above_0=("reg",),
            from_0=("fade", "ahead", "exact_up_to"),
            shares=("back", "nu", "popularity"),
        )
        most = {"items": MOST_ITEMS, "exact_up_to": MOST_EXACT, "sources": MOST_SOURCES}
        for name, bound in most.items():
            if getattr(self, name) > bound:
                raise ConfigError(f"{name} must be at most {bound}, not {getattr(self, name)!r}")


RECIPES = (
    RecipeSettings(
        "sequence",
        AutoregressionConfig(),
        tuple(one.name for one in fields(AutoregressionConfig)),
    ),
)
