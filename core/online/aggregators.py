"""Aggregators combine the experts' predictions: the stack and the mixtures.

The formulas are in the kernels. ``HedgeWeights`` tracks every expert's Hedge weight and losses,
whichever aggregator is configured.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import numpy as np

from core.kernels import aggregate as kernels
from core.online.config import AggregatorName
from core.types import F64


class Formula(NamedTuple):
    """The median-like output as a sum, not clipped: parts . clipped + features of the stack.

    A mixture has no features; their coefficients are 0.
    """

    parts: F64
    """(m,) coefficient of each expert."""
    constant: float = 0.0
    slope: float = 0.0
    user_count: float = 0.0
    item_count: float = 0.0
    curvature: float = 0.0
    user_residual: float = 0.0
    item_residual: float = 0.0


class Aggregator(Protocol):
    """Combines clipped predictions (n, m) into outputs (n, 2): median-like and mean."""

    state: dict[str, F64]

    def learn(self, clipped: F64, known: F64, rating: F64, mixture: F64, out: F64) -> None:
        """Write the outputs made before each rating, then learn it; ``mixture`` (n,) is Hedge's."""

    def predict(self, clipped: F64, known: F64, out: F64) -> None:
        """Write the outputs; modify nothing else."""

    def formula(self) -> Formula:
        """Return the current formula of the median-like output."""

    def parts(self) -> F64:
        """Return each expert's contribution (m,) to the median-like output; they sum to 1."""


class HedgeWeights:
    """Hedge's weights and losses of m experts; also the basis of the aggregator "hedge".

    Fixed share applies only if the weights are used (``wanted``): for weights that are merely
    reported it would cost 5 % of the learning time.
    """

    def __init__(self, size: int, *, beta: float, share: float, wanted: bool) -> None:
        self._log_beta, self._wanted = float(np.log(beta)), wanted
        self._share = share if wanted else 0.0
        self._scratch = np.zeros(size)
        self.log_weight = np.zeros(size)
        self.loss = np.zeros((2, size))
        self.state = {"log_weight": self.log_weight, "loss": self.loss}

    def follow(self, clipped: F64, rating: F64) -> F64:
        """Learn a batch; return the mixture before each rating, (n,), or (0,) unless wanted."""
        out = np.empty(rating.size if self._wanted else 0)
        kernels.hedge(
            clipped,
            rating,
            self._log_beta,
            self._share,
            self.log_weight,
            self.loss,
            self._scratch,
            out,
        )
        return out

    def weights(self) -> F64:
        """Return the normalised weights."""
        weight = np.exp(self.log_weight - self.log_weight.max())
        return np.asarray(weight / weight.sum())


class Stack:
    """Recursive least squares on the deviations from the plain mean."""

    def __init__(self, size: int, low: float, high: float) -> None:
        self._size, self._low, self._high = size, low, high
        features = size + kernels.FEATURES
        self._x, self._g = np.zeros(features), np.zeros(features)
        self.state = {
            "covariance": kernels.PRIOR * np.eye(features),
            "weight": np.zeros((2, features)),
        }

    def learn(self, clipped: F64, known: F64, rating: F64, mixture: F64, out: F64) -> None:
        covariance, weight = self.state["covariance"], self.state["weight"]
        bounds = self._low, self._high
        kernels.stack(clipped, known, rating, covariance, weight, self._x, self._g, *bounds, out)

    def predict(self, clipped: F64, known: F64, out: F64) -> None:
        weight = self.state["weight"]
        # Threads may predict concurrently, hence not the scratch array of learn.
        own = np.empty(weight.shape[1])
        kernels.stack_predict(clipped, known, weight, own, self._low, self._high, out)

    def formula(self) -> Formula:
        return Formula(self.parts(), *self.state["weight"][0, self._size :].tolist())

    def parts(self) -> F64:
        weight = self.state["weight"][0, : self._size]
        return np.asarray(weight + (1.0 - weight.sum()) / self._size)


class _Mixture(ABC):
    """A convex mixture: both outputs are equal, and a prediction is a product with the weights."""

    @abstractmethod
    def parts(self) -> F64: ...

    def formula(self) -> Formula:
        return Formula(self.parts())

    def predict(self, clipped: F64, known: F64, out: F64) -> None:
        out[:] = _weighted(clipped, self.parts())[:, None]


def _weighted(clipped: F64, weight: F64) -> F64:
    """Return the weighted sums, added expert by expert, so that a row's bits do not depend on n."""
    total = np.zeros(clipped.shape[0])
    for column, part in zip(clipped.T, weight, strict=True):
        total += part * column
    return total


class Hedge(_Mixture):
    """Mixture by the weights of ``HedgeWeights``."""

    def __init__(self, weights: HedgeWeights) -> None:
        self._weights = weights
        self.state: dict[str, F64] = {}

    def learn(self, clipped: F64, known: F64, rating: F64, mixture: F64, out: F64) -> None:
        out[:] = mixture[:, None]

    def parts(self) -> F64:
        return self._weights.weights()


class Uniform(_Mixture):
    """The plain mean."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.state: dict[str, F64] = {}

    def learn(self, clipped: F64, known: F64, rating: F64, mixture: F64, out: F64) -> None:
        self.predict(clipped, known, out)

    def parts(self) -> F64:
        return np.full(self._size, 1.0 / self._size)


class ExponentiatedGradient(_Mixture):
    """Weights from the summed regrets, with one learning rate for all experts."""

    def __init__(self, size: int, *, share: float) -> None:
        self._share = share
        self._scratch = np.zeros(size)
        self.state = {"regret": np.zeros(size), "spread": np.zeros(1)}

    def learn(self, clipped: F64, known: F64, rating: F64, mixture: F64, out: F64) -> None:
        regret, spread = self.state["regret"], self.state["spread"]
        one = np.empty(rating.size)
        kernels.exponentiated_gradient(
            clipped, rating, self._share, regret, spread, self._scratch, one
        )
        out[:] = one[:, None]

    def parts(self) -> F64:
        spread = float(self.state["spread"][0])
        rate = np.sqrt(np.log(self._scratch.size) / spread) if spread > 0.0 else 0.0
        return _softmax(rate * self.state["regret"])


class Boa(_Mixture):
    """Bernstein online aggregation: a learning rate per expert."""

    def __init__(self, size: int, *, share: float) -> None:
        self._share = share
        self._scratch = np.zeros(size)
        spread = np.zeros((3, size))
        spread[2] = 1.0
        self.state = {"regret": np.zeros(size), "spread": spread}

    def learn(self, clipped: F64, known: F64, rating: F64, mixture: F64, out: F64) -> None:
        regret, spread = self.state["regret"], self.state["spread"]
        one = np.empty(rating.size)
        kernels.boa(clipped, rating, self._share, regret, spread, self._scratch, one)
        out[:] = one[:, None]

    def parts(self) -> F64:
        variance, largest, rate = self.state["spread"]
        seen = variance > 0.0
        rate = rate.copy()
        rate[seen] = np.minimum(1.0 / largest[seen], np.sqrt(np.log(rate.size) / variance[seen]))
        rate = np.maximum(rate, np.finfo(float).tiny)  # a single expert has log m = 0
        return _softmax(rate * self.state["regret"] + np.log(rate))


def _softmax(score: F64) -> F64:
    weight = np.exp(score - score.max())
    return np.asarray(weight / weight.sum())


def aggregator(
    name: AggregatorName,
    size: int,
    *,
    hedge: HedgeWeights,
    share: float,
    bounds: tuple[float, float],
) -> Aggregator:
    """Return the named aggregator of ``size`` experts, whose predictions are within ``bounds``."""
    if name == "stack":
        return Stack(size, *bounds)
    if name == "hedge":
        return Hedge(hedge)
    if name == "boa":
        return Boa(size, share=share)
    if name == "eg":
        return ExponentiatedGradient(size, share=share)
    return Uniform(size)
