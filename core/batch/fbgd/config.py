"""The settings of fBGD and of its recipe; this module loads no code that fits."""

from dataclasses import dataclass, fields

from core.recipe_settings import RecipeSettings
from core.search.bounds import check_bounds


@dataclass(frozen=True)
class FbgdConfig:
    """Settings of one fit; ``core.search.search`` finds them.

    >>> FbgdConfig(factors=16, reg=2.0).epochs
    8
    """

    factors: int = 64
    alpha0: float = 500.0
    """Weight of all unlabelled pairs of a user together."""
    rho: float = 0.0
    """How much more an unlabelled pair of a frequent item weighs."""
    reg: float = 5.0
    nu_user: float = 0.5
    nu_item: float = 0.5
    """Regularisation of a row is reg (count / mean count)^nu."""
    epochs: int = 8
    steps: int = 2
    """Conjugate-gradient steps on a row in an epoch."""
    negative_target: float = 0.0
    start: float = 0.1
    """Length of the first item vectors."""
    shrinkage: float = 0.0
    """How strongly vectors of short histories are shrunk to the mean user (``core.batch.shrinkage``)."""
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
