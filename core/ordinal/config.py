"""The settings of ordinal scores and of their recipe; this module loads no code that fits."""

from dataclasses import dataclass, fields
from typing import Literal, get_args

from core.errors import ConfigError
from core.recipe_settings import RecipeSettings

Solver = Literal["closed", "stochastic"]

GAMMAS = (1.0, 0.75, 0.5, 0.25, 0.0)
BLOCK = 32
MOST_ELEMENTS = 1 << 26
"""Of the items' vectors: many items get shorter ones."""
MOST_LABELLED, MOST_FREQUENCIES = 1_000_000, 4_096
"""What may be asked for: the fit solves for twice as many weights, memory is the square of that."""


@dataclass(frozen=True)
class OrdinalConfig:
    """Settings of one fit; kernel, reg and gamma are found by validation."""

    solver: Solver = "closed"
    block: int = 64
    """Frequencies of a block."""
    blocks: int = 32
    """Blocks of the model; the paper's new block in every step: as many as ``steps``."""
    steps: int = 1000
    """Of the stochastic solver."""
    unlabelled: int = 2000
    """At most so many unlabelled rows take part in a fit, drawn at random."""
    gammas: tuple[float, ...] = GAMMAS
    """Shares of the labelled pairs to try; (1.0,) leaves the unlabelled rows out."""
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
    """Settings of one fit; kernel and regularisation are found by validation."""

    labelled: int = 10_000
    """Rated pairs that teach, drawn at random."""
    unlabelled: int = 2_000
    """Pairs without a rating that take part."""
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
        """Return the settings of the model for so many items."""
        most = MOST_ELEMENTS // (2 * BLOCK * max(n_items, 1))
        blocks = max(min(-(-self.frequencies // BLOCK), most), 1)
        return OrdinalConfig(block=BLOCK, blocks=blocks, unlabelled=self.unlabelled, seed=self.seed)


RECIPES = (
    RecipeSettings("ordinal", StarsConfig(), tuple(one.name for one in fields(StarsConfig))),
)
