"""The settings of fBGD and of its recipe.

This module imports no code that fits, so that a process without training can check settings.
"""

from dataclasses import dataclass, fields

from core.recipe_settings import RecipeSettings
from core.search.bounds import check_bounds


@dataclass(frozen=True)
class FbgdConfig:
    """Settings of one fit; ``search.py`` finds good ones.

    >>> FbgdConfig(factors=16, reg=2.0).epochs
    8
    """

    factors: int = 64
    alpha0: float = 500.0
    """Total weight of all unobserved pairs of a user."""
    rho: float = 0.0
    """Exponent that gives unobserved pairs of frequent items more weight.

    At 0 all weigh the same.
    """
    reg: float = 5.0
    nu_user: float = 0.5
    nu_item: float = 0.5
    """Exponents of the regularisation of users' and items' rows: reg (count / mean count)^nu."""
    epochs: int = 8
    steps: int = 2
    """Conjugate-gradient steps for each row in an epoch."""
    negative_target: float = 0.0
    start: float = 0.1
    """Length of the initial item vectors."""
    shrinkage: float = 0.0
    """Strength of the shrinkage of short histories to the mean user (``core.batch.shrinkage``)."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_bounds(
            self,
            counts=("factors", "epochs", "steps"),
            above_0=("alpha0", "reg", "start"),
            from_0=("shrinkage",),
            shares=("rho", "nu_user", "nu_item"),
            finite=("negative_target",),
        )


RECIPES = (RecipeSettings("fbgd", FbgdConfig(), tuple(one.name for one in fields(FbgdConfig))),)
