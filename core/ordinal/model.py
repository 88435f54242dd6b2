"""A fitted ordinal score: scores and levels of rows by their features. It loads no fitting code."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.errors import ShapeError
from core.ordinal.random_features import ROWS, RandomFeatures, waves
from core.ordinal.thresholds import Levels
from core.types import F32, F64, I64


@dataclass(frozen=True, eq=False)
class OrdinalModel:
    """A fitted score, and how levels are derived from it.

    Equation   f(x) = weights' [cos(W' z), sin(W' z)] - offset, z = (x - low) / range,
               z = 0 where a feature is constant
    Symbols    low, inverse_range, widths (d,) f64 · weights (2 blocks block,) f32, all cosines
               first · W regenerated

    >>> x = np.linspace(0.0, 1.0, 60)[:, None]
    >>> stars = np.repeat([1, 0, 2, 0, 3, 0], 10)  # 0: not rated
    >>> from core.ordinal.config import OrdinalConfig
    >>> from core.ordinal.qs3orao import fit
    >>> model = fit(x, stars, 3, OrdinalConfig(block=8, blocks=4))
    >>> model.probabilities(x[:2]).sum(axis=1).round(6)
    array([1., 1.])
    """

    low: F64
    inverse_range: F64
    widths: F64
    weights: F32
    offset: float
    """Constant that makes f 0 on average over the labelled rows; the risk does not determine it."""
    block: int
    seed: int
    levels: Levels
    reg: float
    gamma: float
    auc: float
    """Validation AUC of the chosen setting."""

    @cached_property
    def frequencies(self) -> F32:
        """Return W (d, m) f32, regenerated from the seed."""
        blocks = len(self.weights) // (2 * self.block)
        return RandomFeatures(self.widths, self.block, self.seed).all_frequencies(blocks)

    def scores(self, x: F64) -> F64:
        """Return f of the rows of ``x`` (n, d), (n,) f64, in O(n m d) time and O(m) memory."""
        if x.ndim != 2 or x.shape[1] != len(self.low):
            raise ShapeError(f"rows have {x.shape[1:]} features, the model needs {len(self.low)}")
        found = np.empty(len(x))
        for start in range(0, len(x), ROWS):
            part = slice(start, start + ROWS)
            found[part] = waves(self._scaled(x[part]), self.frequencies) @ self.weights
        return found - self.offset

    def level(self, x: F64) -> I64:
        """Return the level of each row, (n,) i64 from 1."""
        return self.levels.level(self.scores(x))

    def probabilities(self, x: F64) -> F64:
        """Return P(level) of each row, (n, levels) f64."""
        return self.levels.probabilities(self.scores(x))

    def _scaled(self, x: F64) -> F32:
        return ((x - self.low) * self.inverse_range).astype(np.float32)
