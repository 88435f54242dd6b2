"""The exact regression of each item on all others (EASE), for catalogues whose square fits."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from core.batch.neighbours.config import NeighboursConfig
from core.batch.neighbours.graph import BLOCK, normalised_likes
from core.errors import ConfigError, Diverged
from core.interactions import Interactions
from core.types import F32, F64

MOST_ITEMS = 10_000
"""Most items with likes: their inverse takes 800 MB."""


class Regression:
    """The regression of every item that somebody likes; ``with_reg`` solves it.

    Equation   B = argmin |N - N B|^2 + reg m |B|^2 with B_jj = 0 = I - P diag(1 / diag P),
               P = (N'N + reg m I)^-1, N = D_u^-a R D^-b                             [EASE]
               strengths D^-b B D^b
    Symbols    R (users, items) weights of likes · D_u, D their sums by user and by item ·
               a, b ``user_exponent``, ``item_exponent``; with b above 0 the numbers of frequent
               items are kept smaller · m the mean of the diagonal of N'N
    """

    def __init__(self, pairs: Interactions, config: NeighboursConfig) -> None:
        self.exponents = config.user_exponent, config.item_exponent
        self.n_items = pairs.n_items
        self.known = np.flatnonzero(pairs.liked.item_counts)
        """Items that somebody likes."""
        if self.known.size > MOST_ITEMS:
            raise ConfigError(
                f"reg above 0 asks for the exact regression of {self.known.size} items, "
                f"which is possible for {MOST_ITEMS}: give reg 0"
            )
        normalised, divided = normalised_likes(pairs, *self.exponents)
        self._divided = divided[self.known]
        self.own: F64 = np.zeros(self.known.size)
        """P_ii D_i^-2b of the known items, after ``with_reg``."""
        columns: Any = normalised[:, self.known].astype(np.float64)
        self._gram: F64 = (columns.T @ columns).toarray()

    def with_reg(self, reg: float) -> F32:
        """Return the strengths between the known items, (known, known).

        On its diagonal is the share 1 - reg m P_jj of an item in its own ridge regression: it
        changes no score of other items, and puts a known item before unknown ones where seen items
        may be shown.
        """
        reg = reg * float(np.diag(self._gram).mean())
        inverse = self._inverse(reg)
        own = np.diag(inverse).copy()
        self.own = own / self._divided**2
        inverse *= self._divided / -own
        inverse /= self._divided[:, None]
        inverse[np.diag_indices_from(inverse)] = 1.0 - reg * own
        return inverse.astype(np.float32)

    def strengths(self, reg: float) -> Iterator[F32]:
        """Yield the strengths of BLOCK items after the other to all items, (BLOCK, items)."""
        found = self.with_reg(reg)
        place = np.full(self.n_items, -1)
        place[self.known] = np.arange(self.known.size)
        for first in range(0, self.n_items, BLOCK):
            rows = place[first : first + BLOCK]
            block = np.zeros((rows.size, self.n_items), np.float32)
            block[np.ix_(rows >= 0, self.known)] = found[rows[rows >= 0]]
            yield block

    def _inverse(self, reg: float) -> F64:
        """Return (R'R + reg I)^-1 by a Cholesky factorisation."""
        # LAPACK works in place on arrays in Fortran's order
        regular = np.array(self._gram, order="F")
        regular[np.diag_indices_from(regular)] += reg
        root, failed = dpotrf(regular, lower=1, overwrite_a=1)
        if failed:
            raise Diverged(f"the regression cannot be solved with reg {reg:g}: give more")
        lower, _ = dpotri(root, lower=1, overwrite_c=1)
        half: F64 = np.tril(lower)
        half += np.tril(half, -1).T
        return half
