"""One side of a one-class factorisation: its listed pairs, weights, features and graph.

Nothing here changes while the factors are fitted. ``subproblem.py`` combines two sides.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core.batch.gram import spectrum
from core.interactions import Interactions, chunks
from core.kernels import ocmf as kernels
from core.types import I64

Floats = NDArray[np.floating[Any]]
Features = sp.csr_array | Floats

MOST_CONDITIONED = 3_072
"""Most features whose Gram matrix is decomposed for the preconditioner."""

CHUNKS = 64
"""Blocks of rows that threads share; fixed, so that the number of threads changes no result."""


class Pairs:
    """The listed pairs, ordered for the side that is solved: row i holds the partners of i."""

    def __init__(self, pairs: Interactions) -> None:
        self.n_rows, self.start, self.partner = pairs.n_users, pairs.ptr, pairs.item_ix
        self.bounds = chunks(pairs.ptr, CHUNKS)

    @cached_property
    def row(self) -> I64:
        """Return the row of each pair, (pairs,)."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.start))

    def scores(self, rows: Floats, partners: Floats) -> Floats:
        """Return b_i.h_j of each pair."""
        out = np.empty(self.partner.size, dtype=rows.dtype)
        kernels.pair_scores(self.bounds, self.start, self.partner, rows, partners, out)
        return out

    def weighted_sums(self, weight: Floats, partners: Floats) -> Floats:
        """Return sum_j weight_ij h_j of each row."""
        out = np.empty((self.n_rows, partners.shape[1]), dtype=partners.dtype)
        kernels.weighted_sums(self.bounds, self.start, self.partner, weight, partners, out)
        return out

    def curved_sums(self, curvature: Floats, rows: Floats, partners: Floats) -> Floats:
        """Return sum_j c_ij (n_i.h_j) h_j of each row."""
        out = np.empty_like(rows)
        kernels.curved_sums(self.bounds, self.start, self.partner, curvature, rows, partners, out)
        return out


class FeatureMatrix:
    """Features X (m, d), sparse or dense, with the weights p of its rows.

    It caches the products that depend on these two alone, so that several fits can share them.
    """

    def __init__(self, matrix: Features, weight: Floats) -> None:
        self.matrix, self.weight = matrix, weight
        self.n_rows, self.n_features = matrix.shape
        self.transposed: Any = matrix.T if isinstance(matrix, np.ndarray) else matrix.T.tocsr()

    @cached_property
    def whole_gram(self) -> Floats:
        """Return X' diag(p) X, (d, d)."""
        product: Any = self.transposed @ (self.matrix * self.weight[:, None])
        whole: Floats = product if isinstance(product, np.ndarray) else product.toarray()
        return whole

    @property
    def gram(self) -> Floats | None:
        """Return X' diag(p) X, or None if it is large compared with X.

        With it a product of all pairs does not need the rows.
        """
        d = self.n_features
        size = self.matrix.size if isinstance(self.matrix, np.ndarray) else self.matrix.nnz
        return None if d * d > 4 * size or d > self.n_rows else self.whole_gram

    @cached_property
    def spectrum(self) -> tuple[Floats, Floats] | None:
        """Return eigenvalues and eigenvectors of X' diag(p) X; None for too many features."""
        if self.n_features > MOST_CONDITIONED:
            return None
        return spectrum(self.whole_gram)


@dataclass(frozen=True, eq=False)
class Side:
    """The rows of one side: weights of unobserved pairs, features, a graph, regularisation."""

    weight: Floats
    """p (m,), the weight of the unobserved pairs of each row."""
    reg: Floats
    """Regularisation lambda of each row of W: (d,), or (m,) without features."""
    features: FeatureMatrix | None = None
    """X; None: the identity."""
    laplacian: sp.csr_array | None = None
    """L, (m, m), symmetric."""
    graph: float = 0.0
    """Weight of tr(B'LB); lambda_w lambda_g in the paper."""

    @property
    def n_parameters(self) -> int:
        return int(self.weight.size if self.features is None else self.features.n_features)

    @property
    def gram(self) -> Floats | None:
        return None if self.features is None else self.features.gram

    def rows(self, parameters: Floats) -> Floats:
        """Return B = X W."""
        if self.features is None:
            return parameters
        rows: Floats = self.features.matrix @ parameters
        return rows

    def back(self, rows: Floats) -> Floats:
        """Return X' R."""
        if self.features is None:
            return rows
        parameters: Floats = self.features.transposed @ rows
        return parameters

    def smoothed(self, rows: Floats) -> Floats | None:
        """Return graph L B, or None without a graph."""
        if self.laplacian is None or self.graph == 0.0:
            return None
        smoothed: Floats = self.graph * (self.laplacian @ rows)
        return smoothed

    def regularised(self, parameters: Floats) -> Floats:
        """Return diag(reg) W."""
        return self.reg[:, None] * parameters

    @property
    def spectrum(self) -> tuple[Floats, Floats | None] | None:
        """Return eigenvalues and eigenvectors of X' diag(p) X, or None for too many features.

        Eigenvectors of None stand for the identity.
        """
        return (self.weight, None) if self.features is None else self.features.spectrum

    @property
    def penalty(self) -> Floats:
        """Return the approximate curvature that regularisation and graph add to each eigenvalue."""
        if self.features is not None:
            return np.full_like(self.reg, self.reg.mean())
        if self.laplacian is None:
            return self.reg
        penalty: Floats = self.reg + self.graph * self.laplacian.diagonal()
        return penalty
