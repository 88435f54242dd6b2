"""Settings of ordinal scores and of their recipe; this module loads no code that fits."""

from dataclasses import dataclass, fields
from typing import Literal, get_args

from core.errors import ConfigError
from core.recipe_settings import RecipeSettings

Solver = Literal["closed", "stochastic"]

GAMMAS = (1.0, 0.75, 0.5, 0.25, 0.0)
BLOCK = 32
MOST_ELEMENTS = 1 << 26
"""Upper bound on the elements of all item vectors; many items get shorter vectors."""
MOST_LABELLED, MOST_FREQUENCIES = 1_000_000, 4_096
"""Largest settings that may be requested.

The fit solves for twice as many weights as frequencies and needs memory for the square of that.
"""


@dataclass(frozen=True)
class OrdinalConfig:
    """Settings of one fit; validation chooses kernel, reg and gamma.

    >>> OrdinalConfig(block=32, blocks=8).solver
    'closed'
    """

    solver: Solver = "closed"
    block: int = 64
    """Frequencies per block."""
    blocks: int = 32
    """Number of blocks of the model; the paper draws a new one in each step (``steps`` blocks)."""
    steps: int = 1000
    """Number of steps of the stochastic solver."""
    unlabelled: int = 2000
    """Largest number of unlabelled rows in a fit; they are drawn at random."""
    gammas: tuple[float, ...] = GAMMAS
    """Candidate shares of the labelled pairs; (1.0,) excludes the unlabelled rows."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.solver not in get_args(Solver):
            raise ConfigError(f"solver must be {' or '.join(get_args(Solver))}")
        for name in ("block", "blocks", "steps", "unlabelled"):
            if not 1 <= getattr(self, name) <= 1_000_000:
                raise ConfigError(f"{name} must be in 1 .. 1000000, not {getattr(self, name)}")
        if self.seed < 0:
            raise ConfigError(f"seed must be 0 or more, not {self.seed}")
        if not self.gammas or not all(0.0 <= one <= 1.0 for one in self.gammas):
            raise ConfigError("gammas must be one or more numbers in 0 .. 1")


@dataclass(frozen=True)
class StarsConfig:
    """Settings of one fit; validation chooses kernel and regularisation."""

    labelled: int = 10_000
    """Number of rated pairs to learn from, drawn at random."""
    unlabelled: int = 2_000
    """Number of unrated pairs to learn from."""
    frequencies: int = 256
    """Half the length of the vectors."""
    seed: int = 0

    def __post_init__(self) -> None:
        bounds = (("labelled", 2, MOST_LABELLED), ("frequencies", 1, MOST_FREQUENCIES))
        for name, least, most in bounds:
            if not least <= getattr(self, name) <= most:
                raise ConfigError(f"{name} must be in {least} .. {most}, not {getattr(self, name)}")
        _ = self.ordinal(1)

    def ordinal(self, n_items: int) -> OrdinalConfig:
        """Return the settings of the ordinal model for ``n_items`` items."""
        most = MOST_ELEMENTS // (2 * BLOCK * max(n_items, 1))
        blocks = max(min(-(-self.frequencies // BLOCK), most), 1)
        return OrdinalConfig(block=BLOCK, blocks=blocks, unlabelled=self.unlabelled, seed=self.seed)


RECIPES = (
    RecipeSettings("ordinal", StarsConfig(), tuple(one.name for one in fields(StarsConfig))),
)
