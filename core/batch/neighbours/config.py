"""The settings of neighbours of items and of their recipe.

This module imports no code that fits, so that a process without training can check settings.
"""

from dataclasses import dataclass, fields

from core.recipe_settings import RecipeSettings
from core.search.bounds import check_bounds


@dataclass(frozen=True)
class NeighboursConfig:
    """Settings of one fit; ``search.py`` finds good ones.

    >>> NeighboursConfig().exact, NeighboursConfig(reg=5.0).exact
    (False, True)
    """

    reg: float = 0.0
    """Regularisation of the exact regression (EASE), in units of the mean weight of an item.

    At 0 the graph of users and items is used.
    """
    user_exponent: float = 0.5
    item_exponent: float = 0.5
    """Exponents a, b: a pair weighs 1 / (weight of the user's pairs^a x weight of the item's^b)."""
    factors: int = 256
    """Number of singular vectors in the spectral part of the graph."""
    share: float = 0.3
    """Weight of the spectral part beside the graph; 0 leaves it out."""
    fade: float = 1.0
    """How fast singular vectors lose weight: (singular value / largest)^fade; 0: they do not."""
    neighbours: int = 2_000
    """Most neighbours that are kept of an item, those with the largest strengths."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_bounds(
            self,
            counts=("factors", "neighbours"),
            from_0=("reg", "share", "fade"),
            shares=("user_exponent", "item_exponent"),
        )

    @property
    def exact(self) -> bool:
        """Return whether the strengths are those of the exact regression."""
        return self.reg > 0.0


RECIPES = (
    RecipeSettings(
        "neighbours", NeighboursConfig(), tuple(one.name for one in fields(NeighboursConfig))
    ),
)
