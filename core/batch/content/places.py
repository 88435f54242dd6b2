"""From what is said of items to their vectors in the space of a model: ridge regression.

``place`` takes the item vectors of any model; a model without such vectors has no such space. The
ridge is chosen by items that a regression has not seen, and no item speaks for itself: the place
of each comes from a regression to others. So the places of old items and of new ones are alike.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from core.batch.feature_map import FeatureMap
from core.errors import ShapeError
from core.types import F32, F64, I64

DOUBT = 5.0
"""Evidence of an item at which its vector counts half: that of an item with few events is noise."""
FOLDS = 5
"""Parts of the items; the places of each come from a regression to the others."""
RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Strengths that may be chosen; the first one tried is ``USUAL``."""
USUAL = 3.0
"""Strength where there are too few items to choose one."""
FEWEST = 20
"""Fewest known items by which a strength is chosen."""
BLOCK = 1 << 16
"""Items that are placed together, with a few copies of their rows in memory."""


@dataclass(frozen=True, eq=False)
class DocumentMap:
    """Maps what is said of items to vectors in the space of a model."""

    weights: F32
    """W (d + 1, g); the last row is that of the constant column."""

    def places(self, rows: sp.csr_array) -> F32:
        """Return the vectors (n, g) of items by their rows (n, d): 0 where nothing is said.

        Equation   v = W'x, x the row at length 1 with a constant (``FeatureMap``)
        """
        if rows.shape[1] + 1 != len(self.weights):
            raise ShapeError(
                f"the rows have {rows.shape[1]} columns, the map has {len(self.weights) - 1}: "
                "encode the documents as in the fit"
            )
        places = np.zeros((rows.shape[0], self.weights.shape[1]), np.float32)
        for first in range(0, rows.shape[0], BLOCK):
            some: Any = rows[first : first + BLOCK]
            places[first : first + BLOCK] = FeatureMap().transform(some) @ self.weights
        places[np.diff(rows.indptr) == 0] = 0.0
        return places


class Placed(NamedTuple):
    """Items at the places that their documents give them."""

    map: DocumentMap
    places: F32
    """(n, g), each by a regression to other items; 0 where nothing is said of an item."""
    ridge: float
    """The strength that was given or chosen."""
    error: float
    """Weighted squared error on items left out; NaN where there are too few to leave some out."""


def place(
    rows: sp.csr_array, vectors: F32, evidence: F64, *, ridge: float = 0.0, seed: int = 0
) -> Placed:
    """Return the places of items in the space of a model.

    Equation   W = argmin sum_i w_i |q_i - W'x_i|^2 + ridge |W|^2,  w = evidence / (evidence + 5)
    Shapes     rows x (n, d) what is said of each item · vectors q (n, g) of the model · evidence
               (n,) how much the model has learned of each item, in events
    Cost       O(n k^2 + (d^3 + d^2 g) ridges folds) for rows of k entries

    With ``ridge`` 0 the strength is chosen: the one with the least error on items left out.

    >>> rows = sp.csr_array(np.eye(2, dtype=np.float32)[[0, 1, 0]])
    >>> vectors, evidence = np.array([[1.0], [-1.0], [0.0]], np.float32), np.array([100.0, 100, 0])
    >>> made = place(rows, vectors, evidence, ridge=1.0)
    >>> bool(made.map.places(rows)[2, 0] > 0)
    True
    """
    n = rows.shape[0]
    if vectors.shape[0] != n or evidence.shape != (n,):
        raise ShapeError(f"{n} rows need {n} vectors and as much evidence")
    known = np.flatnonzero((evidence > 0.0) & (np.diff(rows.indptr) > 0))
    mapped: Any = FeatureMap().transform(rows[known])
    parts = _Parts(
        mapped.astype(np.float64), vectors[known].astype(np.float64), evidence[known], seed
    )
    strength = ridge or parts.best()
    whole = DocumentMap(parts.whole.solved(strength).astype(np.float32))
    places = whole.places(rows)
    for fold in range(parts.n):
        some = known[parts.fold == fold]
        places[some] = DocumentMap(parts.without(fold, strength)).places(rows[some])
    return Placed(whole, places, strength, parts.error(strength))


class _Sums:
    """The normal equations of some items: X'DX and X'DQ."""

    def __init__(self, gram: F64, right: F64) -> None:
        self.gram, self.right = gram, right

    @classmethod
    def of(cls, X: sp.csr_array, vectors: F64, weight: F64) -> "_Sums":
        weighted: Any = sp.csr_array(sp.diags_array(weight) @ X)
        return cls((X.T @ weighted).toarray(), np.asarray(weighted.T @ vectors))

    def less(self, other: "_Sums") -> "_Sums":
        return _Sums(self.gram - other.gram, self.right - other.right)

    def solved(self, ridge: float) -> F64:
        held = self.gram.copy()
        held[np.diag_indices_from(held)] += ridge
        root = la.cho_factor(held, lower=True, overwrite_a=True, check_finite=False)
        solved: F64 = la.cho_solve(root, self.right, check_finite=False)
        return solved


class _Parts:
    """The known items in folds, with the sums of all of them and of each fold."""

    def __init__(self, X: sp.csr_array, vectors: F64, evidence: F64, seed: int) -> None:
        self._X, self._vectors = X, vectors
        self._weight = evidence / (evidence + DOUBT)
        self.n = FOLDS if len(vectors) >= FEWEST else 0
        drawn = np.random.default_rng([seed, 11]).permutation(len(vectors))
        self.fold: I64 = drawn % max(self.n, 1)
        self.whole = self._sums(np.arange(len(vectors)))
        self._errors: dict[float, float] = {}

    def _sums(self, at: I64) -> _Sums:
        return _Sums.of(self._X[at], self._vectors[at], self._weight[at])

    def without(self, fold: int, ridge: float) -> F32:
        """Return the weights of a regression to the items of the other folds."""
        own = self._sums(np.flatnonzero(self.fold == fold))
        return self.whole.less(own).solved(ridge).astype(np.float32)

    def best(self) -> float:
        """Return the strength with the least error on items left out, near the usual one."""
        if not self.n:
            return USUAL
        at = RIDGES.index(USUAL)
        # the error has one valley: go up while that is better, or else down
        way = 1 if self._better(at + 1, at) else -1
        while self._better(at + way, at):
            at += way
        return RIDGES[at]

    def _better(self, at: int, than: int) -> bool:
        """Return whether one strength exists and errs less than another."""
        return 0 <= at < len(RIDGES) and self.error(RIDGES[at]) < self.error(RIDGES[than])

    def error(self, ridge: float) -> float:
        """Return the weighted squared error of a strength on the items left out of each fit."""
        if not self.n:
            return math.nan
        if ridge not in self._errors:
            self._errors[ridge] = sum(self._missed(fold, ridge) for fold in range(self.n))
        return self._errors[ridge]

    def _missed(self, fold: int, ridge: float) -> float:
        at = np.flatnonzero(self.fold == fold)
        missed = self._vectors[at] - self._X[at] @ self.without(fold, ridge)
        return float(self._weight[at] @ np.square(missed).sum(axis=1))
