"""Convex differentiable losses of scores, element by element.

One of them is the loss of positives.
"""

from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
RowLoss = Literal["square", "logistic"]
"""Losses that the fold-in kernels support; every served model uses one of them."""


@runtime_checkable
class Loss(Protocol):
    """The loss of each score and its first two derivatives; convex, with a continuous slope."""

    def value(self, score: Floats) -> Floats: ...

    def slope(self, score: Floats) -> Floats: ...

    def curvature(self, score: Floats) -> Floats: ...


@dataclass(frozen=True)
class SquareLoss:
    """(target - b)^2."""

    target: float = 1.0

    def value(self, score: Floats) -> Floats:
        error = self.target - score
        return error * error

    def slope(self, score: Floats) -> Floats:
        return 2.0 * (score - self.target)

    def curvature(self, score: Floats) -> Floats:
        return np.full_like(score, 2.0)


@dataclass(frozen=True)
class LogisticLoss:
    """log(1 + exp(-sign b))."""

    sign: float = 1.0

    def value(self, score: Floats) -> Floats:
        margin = self.sign * score
        cost: Floats = np.log1p(np.exp(-np.abs(margin))) + np.maximum(-margin, 0.0)
        return cost

    def slope(self, score: Floats) -> Floats:
        return -self.sign * _sigmoid(-self.sign * score)

    def curvature(self, score: Floats) -> Floats:
        yes = _sigmoid(score)
        return yes * (1.0 - yes)


@dataclass(frozen=True)
class SquaredHingeLoss:
    """max(0, 1 - b)^2: like the square loss, but scores above 1 cost nothing."""

    def value(self, score: Floats) -> Floats:
        short: Floats = np.maximum(1.0 - score, 0.0)
        return short * short

    def slope(self, score: Floats) -> Floats:
        short: Floats = np.maximum(1.0 - score, 0.0)
        return -2.0 * short

    def curvature(self, score: Floats) -> Floats:
        return np.where(score < 1.0, score.dtype.type(2.0), score.dtype.type(0.0))


NAMED: dict[str, Loss] = {
    "square": SquareLoss(),
    "logistic": LogisticLoss(),
    "squared-hinge": SquaredHingeLoss(),
}


@dataclass(frozen=True, eq=False)
class MixedLoss:
    """The loss of listed pairs of both signs, times their weights.

    It is ``positive`` where ``labelled``, and ``negative`` elsewhere.
    """

    labelled: NDArray[np.bool_]
    positive: Loss
    negative: Loss
    weight: Floats

    def value(self, score: Floats) -> Floats:
        return self._mixed(self.positive.value(score), self.negative.value(score))

    def slope(self, score: Floats) -> Floats:
        return self._mixed(self.positive.slope(score), self.negative.slope(score))

    def curvature(self, score: Floats) -> Floats:
        return self._mixed(self.positive.curvature(score), self.negative.curvature(score))

    def _mixed(self, positive: Floats, negative: Floats) -> Floats:
        return self.weight * np.where(self.labelled, positive, negative)


def _sigmoid(score: Floats) -> Floats:
    sigmoid: Floats = 0.5 * (1.0 + np.tanh(0.5 * score))
    return sigmoid
