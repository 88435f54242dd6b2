"""A small world of rows with levels, some of them unlabelled."""

import numpy as np

from core.ordinal.metrics import equal_levels

LEVELS = 4


def levelled():
    """Return rows in 0..1 (60, 3), their levels 1..4 and their groups (60,); 20 are unlabelled."""
    x = np.random.default_rng(7).random((60, 3))
    level = equal_levels(np.sin(3.0 * x[:, 0]) + x[:, 1] ** 2, LEVELS)
    group = np.where(np.arange(60) < 40, level, 0)
    return x, level, group


def group_sizes(group):
    """Return how many rows each group has, the unlabelled ones first."""
    return np.bincount(group, minlength=LEVELS + 1)
