"""The stack: a multinomial logit over items, whose features are the signals of several rankers.

It learns from judged events (``choices.py``). The likelihood cares for every event alike, also for
those whose item no ranker finds, and on sparse data ranks worse than its best feature. The loss
here cares less for an event the less likely the model finds it, hence for the top of the list.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import minimize

from core.errors import DataError
from core.kernels import stack as kernels
from core.stack.choices import Choices
from core.types import F32, F64

TOP = 0.3
"""Exponent of the loss; 0 is the likelihood. docs/explanation/stack.md has the measurements."""
PRIOR = 20.0
"""Strength of the pull of weights towards 0, in events."""
LIKELY_STEPS, TOP_STEPS = 30, 60
"""Most steps by the likelihood, and by the loss of the top."""
LARGEST = 40.0
"""Bound of a standardised signal: an item unlike all of the fit moves a score no further."""


@dataclass(frozen=True, eq=False)
class Logit:
    """Weights of d standardised signals, at the mean length of a history and for each more of it.

    Equation   z(j) = sum over d of (w + l v) (x(j) - mean) / scale,
               l = (log(1 + length) - mean) / scale;  P(j) = exp z(j) / sum over the items of exp z
    """

    names: tuple[str, ...]
    mean: F32
    """(d,)"""
    scale: F32
    """(d,); 0 for a signal that was the same everywhere: it has no weight."""
    weights: F64
    """(d, 2): w and v."""
    length: tuple[float, float]
    """Mean and scale of log(1 + length)."""

    def scores(self, signals: F32, length: int) -> F64:
        """Return z of the items (m,) with these signals (m, d), for a history of a length."""
        by_length = self.weights @ np.array([1.0, _standard_length(self.length, length)])
        found: F64 = _standard(signals, self.mean, self.scale) @ by_length
        return found

    def score_all(self, choices: Choices) -> F64:
        """Return z of all rows of some choices, (rows,)."""
        both = _standard(choices.signals, self.mean, self.scale) @ self.weights
        length = _standard_length(self.length, choices.length)
        scores: F64 = both[:, 0] + length[choices.event] * both[:, 1]
        return scores

    def probabilities(self, signals: F32, length: int) -> F64:
        """Return P of the items (m,): they add up to 1."""
        z = self.scores(signals, length)
        likely: F64 = np.exp(z - z.max(initial=-np.inf))
        likely /= likely.sum()
        return likely


def fit(choices: Choices, names: Sequence[str], *, top: float = TOP) -> Logit:
    """Return the logit of these signals; raise DataError if no event has its item in its list.

    >>> from core.stack.choices import Choice, choices_of
    >>> item = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    >>> made = fit(choices_of([Choice(item, 0, 3)] * 20), ["good", "useless"])
    >>> made.scores(item, 3).argmax()
    np.int64(0)
    """
    listed = choices.taken >= 0
    if not listed.any():
        raise DataError("no event has its item among those to choose from: give more events")
    known = choices.keep(listed)
    mean, scale = known.signals.mean(0, np.float64), known.signals.std(0, dtype=np.float64)
    scale = np.where(scale > 1e-9 * (1.0 + np.abs(mean)), scale, 0.0)
    length = np.log1p(known.length)
    lengths = float(length.mean()), float(length.std())
    made = Logit(
        tuple(names),
        mean.astype(np.float32),
        scale.astype(np.float32),
        np.zeros((mean.size, 2)),
        lengths,
    )
    standard = _standard(known.signals, made.mean, made.scale)
    by_length = _standard_length(lengths, known.length)
    weights = made.weights.ravel()
    # from 0 the loss of the top is flat: it begins where the likelihood ends
    for exponent, steps in ((0.0, LIKELY_STEPS), (top, TOP_STEPS)):
        found = minimize(
            partial(loss, standard=standard, length=by_length, choices=known, top=exponent),
            weights,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps},
        )
        weights = found.x
    return Logit(made.names, made.mean, made.scale, weights.reshape(-1, 2), lengths)


def loss(
    weights: F64, standard: F32, length: F64, choices: Choices, *, top: float
) -> tuple[float, F64]:
    """Return the loss of the weights (2 d,) and its gradient; every event has its item.

    Equation   mean over events of (1 - P(taken)^q) / q + PRIOR / (2 events) |weights|^2; q = 0:
               mean of -log P(taken)
    Shapes     standard (rows, d) standardised signals · length (events,) standardised lengths
    """
    n, pull = len(choices), PRIOR / len(choices)
    gradient = np.empty((standard.shape[1], 2))
    scratch = np.empty(int(choices.counts.max()))
    total = kernels.loss(
        standard,
        choices.ptr,
        choices.taken,
        length,
        weights.reshape(-1, 2),
        top,
        scratch,
        gradient,
    )
    return total / n + pull / 2 * float(weights @ weights), gradient.ravel() / n + pull * weights


def _standard(signals: F32, mean: F32, scale: F32) -> F32:
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
    standard: F32 = np.clip((signals - mean) * inverse, -LARGEST, LARGEST)
    return standard


def _standard_length(of_fit: tuple[float, float], length: "np.typing.ArrayLike") -> F64:
    mean, scale = of_fit
    given: F64 = np.log1p(length)
    return (given - mean) / scale if scale > 0.0 else np.zeros_like(given)
