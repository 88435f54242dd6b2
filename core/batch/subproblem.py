"""The objective of one side of a one-class factorisation while the other side's factors stand still.

f(W) = sum over pairs of l(b_i.h_j) + sum over all other (i, j) of p_i q_j (a - b_i.h_j)^2
       + reg (||W||^2 + graph tr(B'LB)),   B = X W, or W itself without features

Algorithms 1, 2 and 3 of the paper: value, gradient and Hessian-vector product in time linear in the pairs. What
``trust_region.py`` asks of a function is here: ``at(W)`` gives a point.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core.batch.losses import Loss
from core.interactions import Interactions, chunks
from core.kernels import ocmf as kernels
from core.types import I64

Floats = NDArray[np.floating[Any]]

Features = sp.csr_array | Floats

CHUNKS = 64
"""Parts of the rows that threads take; fixed, so that their number changes nothing."""


class Pairs:
    """The listed pairs as the side that is solved sees them: row i holds the partners of i."""

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


@dataclass(frozen=True, eq=False)
class Side:
    """What one side knows of its rows: weights of their unlabelled pairs, features, a graph, regularisation."""

    weight: Floats
    """p, (m,)."""
    reg: float
    features: Features | None = None
    """X, (m, d), sparse or dense."""
    laplacian: sp.csr_array | None = None
    """L, (m, m), symmetric."""
    graph: float = 0.0

    @cached_property
    def transposed(self) -> Features | None:
        if sp.issparse(self.features):
            return sp.csr_array(self.features.T)
        return None if self.features is None else self.features.T

    @cached_property
    def gram(self) -> Floats | None:
        """Return X' diag(p) X where it is small beside X itself, so that no product needs the rows."""
        if self.features is None or self.transposed is None:
            return None
        m, d = self.features.shape
        size = self.features.nnz if sp.issparse(self.features) else self.features.size
        if d * d > 4 * size or d > m:
            return None
        gram = self.transposed @ (self.features * self.weight[:, None])
        return gram.toarray() if sp.issparse(gram) else gram

    @property
    def n_parameters(self) -> int:
        return int(self.weight.size if self.features is None else self.features.shape[1])

    def rows(self, parameters: Floats) -> Floats:
        """Return B = X W."""
        if self.features is None:
            return parameters
        rows: Floats = self.features @ parameters
        return rows

    def back(self, rows: Floats) -> Floats:
        """Return X' R."""
        if self.transposed is None:
            return rows
        parameters: Floats = self.transposed @ rows
        return parameters

    def smoothed(self, rows: Floats) -> Floats | None:
        """Return reg graph L B, None without a graph."""
        if self.laplacian is None or self.graph == 0.0:
            return None
        smoothed: Floats = (self.reg * self.graph) * (self.laplacian @ rows)
        return smoothed


class Subproblem:
    """f as a function of W; ``partners`` are the other side's rows with ``partner_weight`` q."""

    def __init__(
        self,
        pairs: Pairs,
        loss: Loss,
        side: Side,
        *,
        partners: Floats,
        partner_weight: Floats,
        target: float,
    ) -> None:
        self.pairs, self.loss, self.side = pairs, loss, side
        self.partners, self.target = partners, target
        weighted = partner_weight[:, None] * partners
        self.gram = partners.T @ weighted
        self.partner_sum = weighted.sum(axis=0)
        self.weight_sum = side.back(side.weight[:, None])[:, 0]
        self.constant = target**2 * _sum(side.weight) * _sum(partner_weight)
        self.pair_weight = side.weight[pairs.row] * partner_weight[pairs.partner]

    def at(self, place: Floats) -> "Point":
        return Point(self, place)

    def all_pairs(self, place: Floats, rows: Floats) -> Floats:
        """Return X' diag(p) B M, half the gradient of sum_ij p_i q_j b_ij^2."""
        product: Floats
        if self.side.gram is not None:
            product = self.side.gram @ place @ self.gram
        else:
            product = self.side.back(self.side.weight[:, None] * (rows @ self.gram))
        return product

    def linear(self, direction: Floats) -> float:
        """Return -2 a d'S k, the part of all pairs that is linear."""
        return -2.0 * self.target * _dot(self.weight_sum, direction @ self.partner_sum)


class Point:
    """f at one W: its value at once, the rest when asked for."""

    def __init__(self, problem: Subproblem, place: Floats) -> None:
        self._problem, self._place = problem, place
        self._rows = problem.side.rows(place)
        self._score = problem.pairs.scores(self._rows, problem.partners)

    @cached_property
    def value(self) -> float:
        p = self._problem
        pairs = p.loss.value(self._score) - p.pair_weight * np.square(p.target - self._score)
        everything = p.constant + _dot(self._place, self._all_pairs) + p.linear(self._place)
        smooth = 0.0 if self._smoothed is None else _dot(self._rows, self._smoothed)
        return _sum(pairs) + everything + p.side.reg * _dot(self._place, self._place) + smooth

    @cached_property
    def _all_pairs(self) -> Floats:
        return self._problem.all_pairs(self._place, self._rows)

    @cached_property
    def _smoothed(self) -> Floats | None:
        return self._problem.side.smoothed(self._rows)

    def gradient(self) -> Floats:
        """Algorithm 2: X'(D H + 2 diag(p) B M + 2 reg graph L B) + 2 reg W - 2 a d k'."""
        p = self._problem
        slope = p.loss.slope(self._score) - 2.0 * p.pair_weight * (self._score - p.target)
        rows = p.pairs.weighted_sums(slope, p.partners)
        if self._smoothed is not None:
            rows = rows + 2.0 * self._smoothed
        constant: Floats = (2.0 * p.target) * np.outer(p.weight_sum, p.partner_sum)
        gradient: Floats = p.side.back(rows) + 2.0 * self._all_pairs - constant
        return gradient + 2.0 * p.side.reg * self._place

    @cached_property
    def _curvature(self) -> Floats:
        curvature: Floats = self._problem.loss.curvature(self._score)
        return curvature - 2.0 * self._problem.pair_weight

    def hessian_product(self, direction: Floats) -> Floats:
        """Algorithm 3: X'(U H + 2 diag(p) N M + 2 reg graph L N) + 2 reg S, N = X S."""
        p = self._problem
        rows = p.side.rows(direction)
        product = p.pairs.curved_sums(self._curvature, rows, p.partners)
        smoothed = p.side.smoothed(rows)
        if smoothed is not None:
            product = product + 2.0 * smoothed
        product = p.side.back(product) + 2.0 * p.all_pairs(direction, rows)
        return product + 2.0 * p.side.reg * direction

    def line(self, direction: Floats) -> "Line":
        """Return f along a direction; a trial costs one pass over the pairs' scores."""
        p = self._problem
        rows = p.side.rows(direction)
        shift = p.pairs.scores(rows, p.partners)
        linear = 2.0 * _dot(direction, self._all_pairs) + p.linear(direction)
        linear += 2.0 * p.side.reg * _dot(self._place, direction)
        square = _dot(direction, p.all_pairs(direction, rows))
        square += p.side.reg * _dot(direction, direction)
        smoothed = p.side.smoothed(rows)
        if smoothed is not None:
            linear += 2.0 * _dot(self._rows, smoothed)
            square += _dot(rows, smoothed)
        constant = self.value - _sum(p.loss.value(self._score))
        constant += _sum(p.pair_weight * np.square(p.target - self._score))
        return Line(p, self._score, shift, (constant, linear, square))


class Line:
    """phi(t) = sum over pairs of l+(b + t s) + a quadratic in t."""

    def __init__(
        self,
        problem: Subproblem,
        score: Floats,
        shift: Floats,
        quadratic: tuple[float, float, float],
    ) -> None:
        self._problem, self._score, self._shift = problem, score, shift
        self._quadratic = quadratic

    def value(self, step: float) -> float:
        p = self._problem
        score = self._score + step * self._shift
        pairs = p.loss.value(score) - p.pair_weight * np.square(p.target - score)
        constant, linear, square = self._quadratic
        return _sum(pairs) + constant + step * linear + step * step * square

    def slopes(self, step: float) -> tuple[float, float]:
        p = self._problem
        score = self._score + step * self._shift
        slope = p.loss.slope(score) - 2.0 * p.pair_weight * (score - p.target)
        curvature = p.loss.curvature(score) - 2.0 * p.pair_weight
        _, linear, square = self._quadratic
        first = _dot(slope, self._shift) + linear + 2.0 * step * square
        return first, _dot(curvature, np.square(self._shift)) + 2.0 * square


def _sum(values: Floats) -> float:
    return float(values.sum(dtype=np.float64))


def _dot(left: Floats, right: Floats) -> float:
    return float(np.sum(left * right, dtype=np.float64))
