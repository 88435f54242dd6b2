"""The graph of users and items: normalised co-occurrence and its spectral part.

All sums go over all pairs; nothing is sampled.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from core.batch.neighbours.config import NeighboursConfig
from core.interactions import Interactions
from core.types import F32, F64

BLOCK = 512
"""Items whose strengths to all items are in memory at a time."""
DENSE = 400
"""Users or items up to which all singular vectors are computed at once."""


def likes(pairs: Interactions) -> sparse.csr_array:
    """Return the matrix R (users, items) of the weights of all likes."""
    liked = pairs.liked
    weight = np.ones(len(liked), np.float32) if liked.weight is None else liked.weight
    shape = (liked.n_users, liked.n_items)
    return sparse.csr_array((weight, liked.item_ix, liked.ptr), shape=shape)


@dataclass(frozen=True)
class Graph:
    """Walks from item to item, with their spectral part.

    Equation  N'N + share s^2 D^-b V V' D^b, N = D_u^-a R D^-b               [GF-CF]
    Symbols   R (users, items) weights of likes · D_u, D their sums by user and by item ·
              a, b ``user_exponent`` and ``item_exponent`` · V (items, g) the first right singular
              vectors of N, s the largest singular value
    """

    normalised: sparse.csr_array
    """N (users, items)"""
    outward: F32
    """D^-b V (items, g)"""
    inward: F32
    """s^2 D^b V (items, g)"""

    def scores(self, history: sparse.csr_array, share: float, factors: int) -> F32:
        """Return the scores of all items for histories (users, items)."""
        walked: Any = (history @ self.normalised.T) @ self.normalised
        scores: F32 = np.asarray(walked.toarray(), np.float32)
        if share > 0.0:
            reached = history @ self.outward[:, :factors]
            scores += np.float32(share) * (reached @ self.inward[:, :factors].T)
        return scores

    def strengths(self, share: float) -> Iterator[F32]:
        """Yield the strengths of BLOCK items after the other to all items, (BLOCK, items)."""
        by_item = sparse.csr_array(self.normalised.T)
        for first in range(0, by_item.shape[0], BLOCK):
            at = slice(first, first + BLOCK)
            block: F32 = (by_item[at] @ self.normalised).toarray()
            if share > 0.0:
                block += np.float32(share) * (self.outward[at] @ self.inward.T)
            yield block


def graph(pairs: Interactions, config: NeighboursConfig) -> Graph:
    """Return the graph of some pairs, with as many factors as the settings say if there are any."""
    normalised, divided = normalised_likes(pairs, config.user_exponent, config.item_exponent)
    vectors, largest = _singular_vectors(normalised, config)
    divisor = divided[:, None]
    outward = np.divide(vectors, divisor, out=np.zeros_like(vectors), where=divisor > 0.0)
    return Graph(
        normalised,
        np.ascontiguousarray(outward, np.float32),
        np.ascontiguousarray(vectors * divisor * largest**2, np.float32),
    )


def normalised_likes(
    pairs: Interactions, user_exponent: float, item_exponent: float
) -> tuple[sparse.csr_array, F64]:
    """Return N = D_u^-a R D^-b (users, items), and D^b (items,), 0 for items without likes."""
    weights = likes(pairs)
    users, items = (np.asarray(weights.sum(axis=axis), np.float64) for axis in (1, 0))
    by_user, by_item = _power(users, -user_exponent), _power(items, -item_exponent)
    found: Any = sparse.diags_array(by_user) @ weights @ sparse.diags_array(by_item)
    return sparse.csr_array(found).astype(np.float32), _power(items, item_exponent)


def _power(sums: F64, exponent: float) -> F64:
    """Return sums^exponent, 0 where a sum is 0."""
    return np.where(sums > 0.0, np.maximum(sums, 1e-30) ** exponent, 0.0)


def _singular_vectors(matrix: sparse.csr_array, config: NeighboursConfig) -> tuple[F64, float]:
    """Return the first right singular vectors (items, g), g at most ``factors``, and s."""
    smaller = min(matrix.shape)
    factors = min(config.factors, smaller) if config.share > 0.0 else 0
    if factors == 0:
        return np.zeros((matrix.shape[1], 0)), 0.0
    if smaller <= DENSE or factors >= smaller:
        _, values, rows = np.linalg.svd(matrix.toarray(), full_matrices=False)
        return rows[:factors].T, float(values[0])
    start = np.random.default_rng([config.seed, 7]).random(smaller).astype(np.float32)
    _, values, rows = svds(matrix, factors, v0=start)
    return rows[::-1].T, float(values[-1])
