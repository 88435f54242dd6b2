"""The stack: a multinomial logit over items, whose features are the signals of several rankers.

``fitting.py`` fits its weights to judged events, ``learning.py`` as the events come.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.stack.choices import Choices
from core.types import F32, F64

SHORT = 7
"""Length from which on a history is no longer short."""
_LOG_SHORT = float(np.log1p(SHORT))
LARGEST = 40.0
"""Bound of a standardised signal: an item unlike all of the fit moves a score no further."""


@dataclass(frozen=True, eq=False)
class Logit:
    """Weights of d standardised signals; they change with the length of the history.

    Equation   z(j) = sum over d of (w + l v + s u) (x(j) - mean) / scale,
               l = (log(1 + length) - mean) / scale,  s = max(0, log(8 / (1 + length)));
               P(j) = exp z(j) / sum over the items of exp z

    The first events of a user follow other laws than all later ones, hence the part with s, which
    is 0 from seven preferences on.
    """

    names: tuple[str, ...]
    mean: F32
    """(d,)"""
    scale: F32
    """(d,); 0 for a signal that was the same everywhere: it has no weight."""
    weights: F64
    """(d, 3): w, v and u."""
    length: tuple[float, float]
    """Mean and scale of log(1 + length)."""

    def rescaled(self, mean: F32, scale: F32, length: tuple[float, float]) -> "Logit":
        """Return the same logit for signals and lengths that are standardised by these.

        All z of an event change by the same constant, hence no probability does, unless a scale
        grows beyond the bound of a signal: the weight stays as large as this logit could say.
        """
        ratio = np.divide(scale, self.scale, out=np.zeros_like(scale), where=self.scale > 0.0)
        ratio = np.minimum(ratio, LARGEST)
        own, more, short = (self.weights * ratio[:, None]).T
        old_mean, old_scale = self.length
        shift = (length[0] - old_mean) / old_scale if old_scale else 0.0
        steep = length[1] / old_scale if old_scale else 0.0
        weights = np.column_stack([own + shift * more, steep * more, short])
        return Logit(self.names, mean, scale, weights, length)

    @property
    def weighed(self) -> list[str]:
        """Return the names of the signals that have a weight."""
        pairs = zip(self.names, self.scale.tolist(), strict=True)
        return [name for name, scale in pairs if scale > 0.0]

    def scores(self, signals: F32, length: int) -> F64:
        """Return z of the items (m,) with these signals (m, d), for a history of a length."""
        by_length = self.weights_at(length)
        found: F64 = standard(signals, self.mean, self.scale) @ by_length
        return found

    def weights_at(self, length: int) -> F64:
        """Return w + l v + s u (d,) for a history of a length; same as ``context``, for one."""
        mean, scale = self.length
        given = float(np.log1p(length))
        standardised = (given - mean) / scale if scale > 0.0 else 0.0
        found: F64 = self.weights @ np.array([1.0, standardised, max(0.0, _LOG_SHORT - given)])
        return found

    @cached_property
    def inverse(self) -> F32:
        """Return 1 / scale, (d,)."""
        return inverse_of(self.scale)

    def score_all(self, choices: Choices) -> F64:
        """Return z of all rows of some choices, (rows,)."""
        every = standard(choices.signals, self.mean, self.scale) @ self.weights
        of_event = context(self.length, choices.length)
        scores: F64 = (every * of_event[choices.event]).sum(axis=1)
        return scores

    def probabilities(self, signals: F32, length: int) -> F64:
        """Return P of the items (m,): they add up to 1."""
        return probabilities(self.scores(signals, length))

    def aligned(self, names: Sequence[str]) -> "Logit":
        """Return the logit for signals in another order; one without a weight here counts nothing.

        >>> one = np.ones(1, np.float32)
        >>> made = Logit(("good",), one, one, np.ones((1, 3)), (0.0, 1.0))
        >>> made.aligned(["new", "good"]).scale.tolist()
        [0.0, 1.0]
        """
        column = {name: at for at, name in enumerate(self.names)}
        at = np.array([column.get(name, -1) for name in names], np.int64)
        known = at >= 0
        return Logit(
            tuple(names),
            np.where(known, self.mean[at], np.float32(0.0)),
            np.where(known, self.scale[at], np.float32(0.0)),
            np.where(known[:, None], self.weights[at], 0.0),
            self.length,
        )


def probabilities(z: F64 | F32) -> F64:
    """Return the softmax of z (m,): the probabilities add up to 1."""
    likely: F64 = np.exp(z - z.max(initial=-np.inf)).astype(np.float64)
    likely /= likely.sum()
    return likely


def standard(signals: F32, mean: F32, scale: F32) -> F32:
    """Return signals (rows, d) with mean 0 and scale 1; 0 where the scale is 0."""
    found: F32 = (signals - mean) * inverse_of(scale)
    return found.clip(-LARGEST, LARGEST, out=found)


def inverse_of(scale: F32) -> F32:
    """Return 1 / scale (d,); 0 where the scale is 0."""
    inverse: F32 = np.zeros_like(scale)
    np.divide(1.0, scale, out=inverse, where=scale > 0.0)
    return inverse


def context(of_fit: tuple[float, float], length: "np.typing.ArrayLike") -> F64:
    """Return 1, l and s of lengths of histories of any shape, (..., 3); see ``Logit``."""
    mean, scale = of_fit
    given: F64 = np.log1p(length)
    standardised = (given - mean) / scale if scale > 0.0 else np.zeros_like(given)
    short = np.maximum(0.0, np.log1p(SHORT) - given)
    return np.stack([np.ones_like(given), standardised, short], axis=-1)
