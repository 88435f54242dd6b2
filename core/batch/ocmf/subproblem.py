"""The objective of one side of a one-class factorisation, for fixed factors of the other side.

f(W) = sum over pairs of l(b_i.h_j) + sum over all other (i, j) of p_i q_j (a - b_i.h_j)^2
       + tr(W' diag(reg) W) + graph tr(B'LB) - <pull, W>,   B = X W, or W itself without features

Algorithms 1, 2 and 3 of the paper: value, gradient and Hessian-vector product in time linear in the
pairs. The classes here implement the protocols of ``trust_region.py``; ``at(W)`` returns a point.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.batch.gram import spectrum
from core.batch.losses import Loss
from core.batch.ocmf.side import Pairs, Side

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Partners:
    """The other side, which stays fixed."""

    rows: Floats
    """H."""
    weight: Floats
    """q, the weight of an unobserved pair of each of them."""
    pull: Floats | None = None
    """The linear term that linked users with fixed vectors add, (the shape of W)."""


class Subproblem:
    """f as a function of W."""

    def __init__(
        self, pairs: Pairs, loss: Loss, side: Side, fixed: Partners, *, target: float
    ) -> None:
        partners, partner_weight, pull = fixed.rows, fixed.weight, fixed.pull
        self.pairs, self.loss, self.side = pairs, loss, side
        self.partners, self.target = partners, target
        weighted = partner_weight[:, None] * partners
        self.gram = partners.T @ weighted
        weight_sum = side.back(side.weight[:, None])[:, 0]
        # 2 a d k' with d = X'p and k = H'q is the linear term of all pairs
        self.pull: Floats = np.outer(2.0 * target * weight_sum, weighted.sum(axis=0))
        if pull is not None:
            self.pull = self.pull + pull
        self.constant = target**2 * _sum(side.weight) * _sum(partner_weight)
        self.pair_weight = side.weight[pairs.row] * partner_weight[pairs.partner]
        self._conditioner = _Conditioner(self, partner_weight)

    def at(self, place: Floats) -> "Point":
        return Point(self, place)

    def precondition(self, residual: Floats) -> Floats:
        return self._conditioner(residual)

    def all_pairs(self, place: Floats, rows: Floats) -> Floats:
        """Return X' diag(p) B M, half the gradient of sum_ij p_i q_j b_ij^2."""
        product: Floats
        if self.side.gram is not None:
            product = self.side.gram @ place @ self.gram
        else:
            product = self.side.back(self.side.weight[:, None] * (rows @ self.gram))
        return product

    def linear(self, direction: Floats) -> float:
        """Return the linear term of f, without that of the listed pairs."""
        return -_dot(self.pull, direction)


class _Conditioner:
    """The inverse of an approximate Hessian: a rotation to two bases, a division, and the way back.

    The approximation assumes that the weight of a pair depends on the partner alone. A listed pair
    counts with the curvature of its loss at score 0, spread over all rows.
    """

    def __init__(self, problem: Subproblem, partner_weight: Floats) -> None:
        side, partners = problem.side, problem.partners
        bend = problem.loss.curvature(np.zeros_like(problem.pair_weight))
        listed = np.bincount(problem.pairs.partner, bend, minlength=partner_weight.size)
        even = partner_weight + 0.5 * listed / max(_sum(side.weight), 1.0)
        gram = (even[:, None] * partners).T @ partners
        inner, self._right = spectrum(gram.astype(partners.dtype))
        self._spectrum = side.spectrum
        if self._spectrum is not None:
            outer = self._spectrum[0][:, None] * inner
            self._scale = 0.5 / (outer + side.penalty[:, None])

    def __call__(self, residual: Floats) -> Floats:
        if self._spectrum is None:
            return residual
        left = self._spectrum[1]
        turned = (residual if left is None else left.T @ residual) @ self._right
        back: Floats = (self._scale * turned) @ self._right.T
        return back if left is None else left @ back


class Point:
    """f at one W; everything but the scores of the pairs is computed when needed."""

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
        return (
            _sum(pairs) + everything + _dot(self._place, p.side.regularised(self._place)) + smooth
        )

    @cached_property
    def _all_pairs(self) -> Floats:
        return self._problem.all_pairs(self._place, self._rows)

    @cached_property
    def _smoothed(self) -> Floats | None:
        return self._problem.side.smoothed(self._rows)

    def gradient(self) -> Floats:
        """Return the gradient (Algorithm 2).

        Equation   X'(D H + 2 diag(p) B M + 2 graph L B) + 2 diag(reg) W - pull
        """
        p = self._problem
        slope = p.loss.slope(self._score) - 2.0 * p.pair_weight * (self._score - p.target)
        rows = p.pairs.weighted_sums(slope, p.partners)
        if self._smoothed is not None:
            rows = rows + 2.0 * self._smoothed
        every = 2.0 * (self._all_pairs + p.side.regularised(self._place))
        gradient: Floats = p.side.back(rows) + every - p.pull
        return gradient

    @cached_property
    def _curvature(self) -> Floats:
        curvature: Floats = self._problem.loss.curvature(self._score)
        return curvature - 2.0 * self._problem.pair_weight

    def hessian_product(self, direction: Floats) -> Floats:
        """Return the product of the Hessian and a direction S (Algorithm 3).

        Equation   X'(U H + 2 diag(p) N M + 2 graph L N) + 2 diag(reg) S,  N = X S
        """
        p = self._problem
        rows = p.side.rows(direction)
        product = p.pairs.curved_sums(self._curvature, rows, p.partners)
        smoothed = p.side.smoothed(rows)
        if smoothed is not None:
            product = product + 2.0 * smoothed
        product = p.side.back(product) + 2.0 * p.all_pairs(direction, rows)
        return product + 2.0 * p.side.regularised(direction)

    def line(self, direction: Floats) -> "Line":
        """Return f along a direction; evaluating a step costs one pass over the pairs' scores."""
        p = self._problem
        rows = p.side.rows(direction)
        shift = p.pairs.scores(rows, p.partners)
        linear = 2.0 * _dot(direction, self._all_pairs) + p.linear(direction)
        linear += 2.0 * _dot(self._place, p.side.regularised(direction))
        square = _dot(direction, p.all_pairs(direction, rows))
        square += _dot(direction, p.side.regularised(direction))
        smoothed = p.side.smoothed(rows)
        if smoothed is not None:
            linear += 2.0 * _dot(self._rows, smoothed)
            square += _dot(rows, smoothed)
        constant = self.value - _sum(p.loss.value(self._score))
        constant += _sum(p.pair_weight * np.square(p.target - self._score))
        return Line(p, self._score, shift, (constant, linear, square))


class Line:
    """f along a direction: phi(t) = sum over pairs of l+(b + t s) + a quadratic in t."""

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
