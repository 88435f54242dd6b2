"""The graph of users and items: normalised co-occurrence and its spectral part.

All sums go over all pairs; nothing is sampled.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from core.batch.neighbours.config import NeighboursConfig
from core.batch.neighbours.spectrum import singular_vectors
from core.interactions import Interactions
from core.types import F32, F64

BLOCK = 512
"""Items whose strengths to all items are in memory at a time."""


def likes(pairs: Interactions) -> sparse.csr_array:
    """Return the matrix R (users, items) of the weights of all likes."""
    liked = pairs.liked
    weight = np.ones(len(liked), np.float32) if liked.weight is None else liked.weight
    shape = (liked.n_users, liked.n_items)
    return sparse.csr_array((weight, liked.item_ix, liked.ptr), shape=shape)


@dataclass(frozen=True)
class Graph:
    """Walks from item to item, with their spectral part.

    Equation  N'N + share s^2 D^-b V (S / s)^fade V' D^b, N = D_u^-a R D^-b
    Symbols   R (users, items) weights of likes · D_u, D their sums by user and by item ·
              a, b ``user_exponent`` and ``item_exponent`` · V (items, g) the first right singular
              vectors of N, S their singular values, s the largest. Fade 0 is an ideal low-pass
              filter [GF-CF]

    The first g columns of a graph with more of them are a graph with g.
    """

    normalised: sparse.csr_array
    """N (users, items)"""
    outward: F32
    """D^-b V (items, g)"""
    inward: F32
    """s^2 D^b V (items, g)"""
    relative: F64
    """S / s (g,)"""

    def walked(self, history: sparse.csr_array) -> F32:
        """Return the scores N'N of all items for histories (users, items)."""
        walked: Any = (history @ self.normalised.T) @ self.normalised
        scores: F32 = np.asarray(walked.toarray(), np.float32)
        return scores

    def reached(self, history: sparse.csr_array, factors: int, fade: float) -> F32:
        """Return the scores of all items for histories (users, items) by the spectral part."""
        reached: Any = history @ self._faded(slice(None), factors, fade)
        scores: F32 = reached @ self.inward[:, :factors].T
        return scores

    def strengths(self, share: float, fade: float) -> Iterator[F32]:
        """Yield the strengths of BLOCK items after the other to all items, (BLOCK, items).

        All are written to the same array, so each holds until the next one.
        """
        by_item, n_items = sparse.csr_array(self.normalised.T), self.normalised.shape[1]
        # fresh arrays of this size would take longer to get than to fill
        memory = np.empty((min(BLOCK, n_items), n_items), np.float32)
        inward = np.float32(share) * self.inward.T
        for first in range(0, n_items, BLOCK):
            at = slice(first, first + BLOCK)
            walks: Any = by_item[at] @ self.normalised
            block = memory[: walks.shape[0]]
            np.matmul(self._faded(at, self.relative.size, fade), inward, out=block)
            block[np.repeat(np.arange(len(block)), np.diff(walks.indptr)), walks.indices] += (
                walks.data
            )
            yield block

    def _faded(self, at: slice, factors: int, fade: float) -> F32:
        faded: F32 = self.outward[at, :factors] * self.relative[:factors].astype(np.float32) ** fade
        return faded


def graph(pairs: Interactions, config: NeighboursConfig) -> Graph:
    """Return the graph of some pairs, with as many factors as the settings say if there are any."""
    normalised, divided = normalised_likes(pairs, config.user_exponent, config.item_exponent)
    wanted = min(config.factors, min(normalised.shape)) if config.share > 0.0 else 0
    values, vectors = singular_vectors(normalised, wanted, config.seed)
    largest = float(values.max(initial=0.0)) or 1.0
    divisor = divided.astype(np.float32)[:, None]
    outward = np.divide(vectors, divisor, out=np.zeros_like(vectors), where=divisor > 0.0)
    inward = vectors * divisor * np.float32(largest**2)
    return Graph(normalised, outward, inward, values / largest)


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
