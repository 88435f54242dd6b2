"""What is expected of items before anybody took them: their places in the space of another model.

The places are those of ``core.batch.content``. A regression over the items that both models know
tells what a place says of a vector here, and how well.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg as la

from core.kernels.scan import Mask
from core.types import F32, F64, I32

MOST_ITEMS = 20_000
"""Items of the regression; of more, an even sample."""
FEWEST_A_FACTOR = 5
"""Fewest items for each number of a place: with fewer, the regression fits them by chance."""
SURE = 0.95
"""Largest share that a place may tell of a vector."""


class ItemPrior(NamedTuple):
    """The expected vectors of m items."""

    vectors: F32
    """(m, g), 0 where nothing is expected."""
    told: F64
    """(m,): share of the squared length of such vectors that is expected, from 0 to below 1."""


def item_prior(vectors: F32, learned: Mask, places: F32, items: I32) -> ItemPrior:
    """Return what places tell of the vectors of some items.

    Equation   B = argmin sum over items y that have both |q_y - B'(v_y, 1)|^2; the expected vector
               of an item is B'(v, 1), told = 1 - that sum / sum of |q_y|^2
    Shapes     vectors q (n, g) of a model · learned (n,) whether it has learned each · places v
               (p, h), 0 where nothing is said · items (m,), some of them new to q

    >>> q = np.arange(1, 41, dtype=np.float32)[:, None]
    >>> prior = item_prior(q, q[:, 0] > 0, np.append(q, [[9]], axis=0), np.array([40]))
    >>> prior.vectors.round(3).tolist(), prior.told
    ([[9.0]], array([0.95]))
    """
    found = ItemPrior(np.zeros((items.size, vectors.shape[1]), np.float32), np.zeros(items.size))
    n = min(len(vectors), len(places))
    both = np.flatnonzero(learned[:n] & places[:n].any(axis=1))
    if both.size < FEWEST_A_FACTOR * (places.shape[1] + 1):
        return found
    some = both[:: -(-both.size // MOST_ITEMS)]
    q, v = vectors[some].astype(np.float64), _with_constant(places[some])
    weights = la.lstsq(v, q, check_finite=False)[0]
    share = 1.0 - np.square(q - v @ weights).sum() / np.square(q).sum()
    placed = items < len(places)
    placed[placed] = places[items[placed]].any(axis=1)
    found.vectors[placed] = _with_constant(places[items[placed]]) @ weights
    found.told[placed] = np.clip(share, 0.0, SURE)
    return found


def _with_constant(places: F32) -> F64:
    whole: F64 = np.hstack([places, np.ones((len(places), 1))]).astype(np.float64)
    return whole
