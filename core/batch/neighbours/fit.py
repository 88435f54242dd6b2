"""Fit: from all pairs to the strongest neighbours of each item."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from core.batch.neighbours.config import NeighboursConfig
from core.batch.neighbours.exact import Regression
from core.batch.neighbours.graph import graph, normalised_likes
from core.batch.neighbours.model import Joining, Neighbours
from core.errors import DataError
from core.interactions import Interactions, check_pairs
from core.kernels.neighbours import strongest
from core.types import F32

MOST_KEPT = 20_000_000
"""Most neighbours that are kept in all; each takes 8 bytes."""


def fit(pairs: Interactions, config: NeighboursConfig) -> Neighbours:
    """Return the neighbours of all items; only likes teach.

    >>> from core.interactions import from_pairs
    >>> pairs = from_pairs(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    >>> fit(pairs, NeighboursConfig(share=0.0)).strength
    array([[0.5, 0.5],
           [0.5, 0.5]], dtype=float32)
    """
    check_pairs(pairs)
    if not len(pairs.liked):
        raise DataError("there are no likes to learn from: give pairs with a target above 0")
    if config.exact:
        regression = Regression(pairs, config)
        found = _kept(regression.strengths(config.reg), pairs.n_items, config)
        own = np.zeros(pairs.n_items, np.float32)
        own[regression.known] = regression.own
    else:
        blocks = graph(pairs, config).strengths(config.share, config.fade)
        found = _kept(blocks, pairs.n_items, config)
        _, divided = normalised_likes(pairs, config.user_exponent, config.item_exponent)
        own = np.divide(1.0, divided, out=np.zeros_like(divided), where=divided > 0.0)
    exponents = config.user_exponent, config.item_exponent
    joining = Joining(own.astype(np.float32), config.exact, *exponents)
    return replace(found, joining=joining).smaller()


def kept_of(n_items: int, wanted: int) -> int:
    """Return how many neighbours of an item are kept."""
    return max(1, min(wanted, n_items, MOST_KEPT // max(n_items, 1)))


def _kept(blocks: Iterable[F32], n_items: int, config: NeighboursConfig) -> Neighbours:
    shape = n_items, kept_of(n_items, config.neighbours)
    neighbour, strength = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    first = 0
    for block in blocks:
        at = slice(first, first + len(block))
        strongest(block, neighbour[at], strength[at])
        first += len(block)
    return Neighbours(neighbour, strength)
