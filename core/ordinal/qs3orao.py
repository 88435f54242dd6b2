"""Ordinal scores of rows with features, from few labels and many unlabelled rows (QS3ORAO).

The score minimises a pairwise risk over functions of the Gaussian kernel, in random features that
are regenerated from a seed. For fixed features the risk is quadratic: the default solves it,
``solver="stochastic"`` takes the paper's steps.
"""

from dataclasses import replace

import numpy as np

from core.errors import ConfigError, DataError, ShapeError
from core.ordinal.closed_form import in_features
from core.ordinal.config import OrdinalConfig
from core.ordinal.model import OrdinalModel
from core.ordinal.pairing import pairing
from core.ordinal.random_features import RandomFeatures
from core.ordinal.recursion import Steps, descend
from core.ordinal.search import FoundSettings, search
from core.ordinal.thresholds import levels_of
from core.types import F32, F64, I64

LEAST_REG = 2.0**-9
"""Least regularisation of the stochastic solver; a smaller one would need more than 1/reg steps."""
LARGEST_FEATURE = 1e100
"""Largest absolute value of a feature, so that its range and the inverse of the range stay finite.

A feature with a range of at most 1 / LARGEST_FEATURE counts as constant.
"""


def fit(x: F64, level: I64, levels: int, config: OrdinalConfig | None = None) -> OrdinalModel:
    """Return the model of rows ``x`` (n, d); ``level`` (n,) i64 in 1 .. levels, 0 if unknown.

    >>> x = np.linspace(0.0, 1.0, 60)[:, None]
    >>> stars = np.repeat([1, 0, 2, 0, 3, 0], 10)  # 0: not rated
    >>> model = fit(x, stars, 3, OrdinalConfig(block=8, blocks=4))
    >>> model.level(np.array([[0.05], [0.45], [0.8]]))
    array([1, 2, 3])
    """
    config = config or OrdinalConfig()
    _check(x, level, levels)
    low = x.min(axis=0)
    span = x.max(axis=0) - low
    varies = span > 1.0 / LARGEST_FEATURE
    if not varies.any():
        raise DataError("all features are constant: give features that vary")
    inverse = np.divide(1.0, span, out=np.zeros_like(span), where=varies)
    rng = np.random.default_rng([config.seed, 0])
    spare = rng.permutation(np.flatnonzero(level == 0))[: config.unlabelled]
    rows = np.concatenate([np.flatnonzero(level), spare])
    z, group = (x[rows] - low) * inverse, level[rows].astype(np.int64)
    known = group > 0
    found = search(z[known], group[known], z[~known], config.seed, config.gammas)
    if config.solver == "stochastic":
        found = replace(found, reg=max(found.reg, LEAST_REG))
    weights = _solve(z.astype(np.float32), group, levels, found, config)
    model = OrdinalModel(
        low,
        inverse,
        found.widths,
        weights.astype(np.float32),
        0.0,
        config.block,
        config.seed,
        levels_of(found.scores, found.level, levels),
        found.reg,
        found.gamma,
        found.auc,
    )
    return replace(model, offset=float(model.scores(x[rows[known]]).mean()))


def _solve(z: F32, group: I64, levels: int, found: FoundSettings, config: OrdinalConfig) -> F64:
    """Return the weights of all waves, cosines first."""
    features = RandomFeatures(found.widths, config.block, config.seed)
    m = config.block * config.blocks
    if config.solver == "closed":
        used = slice(None) if found.gamma < 1.0 else group > 0
        pairs = pairing(np.bincount(group[used], minlength=levels + 1), found.gamma)
        frequencies = features.all_frequencies(config.blocks)
        solved: F64 = in_features(z[used], group[used], frequencies, pairs, found.reg) / m**0.5
        return solved
    by = Steps(
        steps=config.steps,
        reg=found.reg,
        blocks=config.blocks,
        gamma=found.gamma,
        seed=config.seed,
    )
    steps = descend(z, group, levels, features, by) / config.block**0.5
    halves: F64 = steps.reshape(config.blocks, 2, config.block).swapaxes(0, 1)
    return halves.reshape(-1).copy()


def _check(x: F64, level: I64, levels: int) -> None:
    if x.ndim != 2 or x.shape[0] != len(level):
        raise ShapeError(f"features {x.shape} and levels {level.shape} must have equally many rows")
    if not -LARGEST_FEATURE <= x.min(initial=0.0) <= x.max(initial=0.0) <= LARGEST_FEATURE:
        raise DataError(f"features must be finite numbers of at most {LARGEST_FEATURE:g}")
    if levels < 2:
        raise ConfigError(f"levels must be at least 2, not {levels}")
    if len(level) == 0 or level.min() < 0 or level.max() > levels:
        raise DataError(f"levels must be in 1 .. {levels}, 0 where unknown")
    if len(np.unique(level[level > 0])) < 2:
        raise DataError("all labelled rows have the same level: give rows of at least two levels")
